"""torch.package: archives of code, pickled objects and files, which are loaded without the code being installed.

| file | what it does |
|---|---|
| ``package_exporter``, ``_dependencies``, ``_errors`` | write a package; find its modules; report those that cannot be packed |
| ``package_importer``, ``_modules``, ``_resources`` | read a package; import its modules; its files for ``importlib.resources`` |
| ``importer`` | environments of modules, in which classes are found by name |
| ``_package_pickler``, ``_package_unpickler`` | pickles whose names are those of an environment |
| ``_archive_reader``, ``_directory_reader`` | the records of a zip archive, and of an unpacked one |
| ``find_file_dependencies``, ``_digraph``, ``analyze`` | imports in a source, the graph of modules, questions about it |
| ``glob_group``, ``file_structure_representation`` | patterns of names, the tree of a package's files |
| ``_mangling``, ``_mock`` | names of packed modules, and objects in place of modules that are left out |
"""
from __future__ import annotations

from jtorch.package.analyze.is_from_package import is_from_package as is_from_package
from jtorch.package.file_structure_representation import Directory as Directory
from jtorch.package.glob_group import GlobGroup as GlobGroup
from jtorch.package.importer import Importer as Importer
from jtorch.package.importer import ObjMismatchError as ObjMismatchError
from jtorch.package.importer import ObjNotFoundError as ObjNotFoundError
from jtorch.package.importer import OrderedImporter as OrderedImporter
from jtorch.package.importer import sys_importer as sys_importer
from jtorch.package.package_exporter import EmptyMatchError as EmptyMatchError
from jtorch.package.package_exporter import PackageExporter as PackageExporter
from jtorch.package.package_exporter import PackagingError as PackagingError
from jtorch.package.package_importer import PackageImporter as PackageImporter
