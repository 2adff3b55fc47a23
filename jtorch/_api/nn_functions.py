"""The functions of torch.nn.functional for use in the package: ``nn_functions.relu(...)``.

The stub file lists them. The import adds them: first functions made from op records, then hand-written functions.
``jtorch.nn.functional`` has the same functions.
"""
