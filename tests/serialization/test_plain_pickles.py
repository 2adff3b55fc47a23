"""Plain pickles of tensors and related objects contain PyTorch's names if ``import torch`` gives jtorch."""
from __future__ import annotations

import base64
import copy
import io
import json
import os
import pickle
import pickletools
import textwrap
import zlib

import pytest
from checkpoints import DIRECTIONS, NEEDS_TORCH, both, loaded, saved
from libraries import library

# Maps objects to the names in PyTorch's pickle of protocol 2. For objects without a pickle in PyTorch, the names it can
# read.
TENSOR = ["_codecs.encode", "collections.OrderedDict", "torch._utils._rebuild_tensor_v2", "torch.storage._load_from_bytes"]
NAMED = {
    "torch.arange(3.0)": TENSOR,
    "torch.arange(4)[1:]": TENSOR,
    "torch.ones(2, dtype=torch.uint16)": [*TENSOR[:2], "torch._utils._rebuild_tensor_v3", TENSOR[3], "torch.uint16"],
    "torch.ones(2, device='meta')": ["torch._utils._rebuild_meta_tensor_no_storage", "torch.float32"],
    "torch.nn.Parameter(torch.ones(2))": [*TENSOR[:2], "torch._utils._rebuild_parameter", *TENSOR[2:]],
    "torch.nn.Buffer(torch.ones(2))": [*TENSOR, "torch.Tensor", "torch._tensor._rebuild_from_type_v2"],
    "torch.eye(2).to_sparse()": [*TENSOR[:2], "torch.Size", "torch._utils._rebuild_sparse_tensor", TENSOR[2],
                                 "torch.serialization._get_layout", TENSOR[3]],
    "torch.nn.ReLU()": ["__builtin__.set", "collections.OrderedDict", "torch.nn.modules.activation.ReLU"],
    "torch.float32": ["torch.float32"],
    "torch.device('cuda', 1)": ["torch.device"],
    "torch.Size([2])": ["torch.Size"],
    "torch.strided": ["torch.serialization._get_layout"],
    "torch.channels_last": ["torch.channels_last"],
    "torch.Generator()": [*TENSOR, "torch._C.Generator", "torch.device"],
    "torch.ones(1).storage()": ["_codecs.encode", "torch.storage._load_from_bytes"],
    "torch.ones(1).untyped_storage()": ["_codecs.encode", "torch.storage._load_from_bytes"],
    "torch.max(torch.ones(1, 1), 0)": [*TENSOR[:3], "torch.return_types.max", TENSOR[3]],
    "torch.linalg.eigh(torch.eye(1))": [*TENSOR[:3], "torch.return_types.linalg_eigh", TENSOR[3]],
    "torch.FloatTensor": ["torch.FloatTensor"],
    "torch.FloatStorage": ["torch.FloatStorage"],
}
NOT_PYTORCHS = ("torch.channels_last",)     # PyTorch writes no pickles of these.


def names_in(data):
    """Return the names of functions and classes in a pickle."""
    return sorted({found.replace(" ", ".") for code, found, _ in pickletools.genops(data) if code.name == "GLOBAL"})


def printed_by(run_forked, code, *given):
    """Return the output of a process for ``code``, with the repr of ``given`` inserted."""
    return run_forked(f"import json, os\ngiven = json.loads(os.environ['GIVEN'])\n{textwrap.dedent(code)}",
                      {"GIVEN": json.dumps(given)})


def test_names(run_forked):
    """The process imports jtorch as torch."""
    printed = printed_by(run_forked, """
        import json, pickle, warnings
        from jtorch import _import_hook
        _import_hook.install()
        import torch
        warnings.simplefilter("ignore")
        print(json.dumps({text: pickle.dumps(eval(text), 2).decode("latin1") for text in given}))
        """, *NAMED)
    found = {text: names_in(data.encode("latin1")) for text, data in json.loads(printed).items()}
    assert found == {text: sorted(names) for text, names in NAMED.items()}


@NEEDS_TORCH
@pytest.mark.filterwarnings("ignore:TypedStorage")
@pytest.mark.parametrize("text", [text for text in NAMED if text not in NOT_PYTORCHS])
def test_names_are_pytorchs(text):
    assert names_in(pickle.dumps(eval(text, {"torch": library("torch")}), 2)) == sorted(NAMED[text])


def test_names_here():
    """With ``import jtorch``, a pickle contains jtorch's names, even if PyTorch is installed."""
    data = pickle.dumps({"x": library("jtorch").ones(2), "d": library("jtorch").float32}, 2)
    assert names_in(data) == ["_codecs.encode", "collections.OrderedDict", "jtorch.float32",
                              "jtorch.serialization.rebuild._rebuild_tensor_v2", "jtorch.storage._load_from_bytes"]


# Pickles of the same objects by earlier versions of jtorch: one with jtorch's own names, one with PyTorch's.
EARLIER = {"jtorch": (
    'c-'
    'oay&yUhT6lO|Uz_6RusGH~kPaC*2(Ip!X#@&RQjl}G#S28VSrwVN|onkN{!2>KLbL076`9JBKY0CnEgOf0ChIv1}_w{>I^Y<UKpw|Q%k_eDbzl'
    'o5$%<9s}w_NT~;fDdpGWVRsAM{{_e#e=Q@PatxAdfz$hZV?^>?uY=?>vyzB#3<X`@mD7@_CR9qp{U>L+)9_WFUOXIUR$nb-Cw;K`eOU3gubSo>'
    '(~Or7kP53o~dF2kzkp8aA<uGhipO)Dz>#Qz1sb1<OVHT9o7+bUK|6e{t!}E(maz?ONLI^a{6Yz`tbCjS`q+luBq5{1s#^Ya`8#VCXPypxhsXR9'
    'w7)83wTWa)K#tK#~zKv%$*j5j$q53MhM$!!+@7CJq1X1330_AGBA6Y>~_wnJs2k!DaO=sDz!%k{^i6)-Iw*BPz-'
    '2C(04M@YMI&htI&vi)Fi#k}|#8sAA-VuqLZ7^2|M8O-'
    'W*qk8`a!H1@36|A|zYx5}(^tU@G<J#PeS$>7Cz(d{TZAf&o>Gveq$d~rm%%1B3ka0jf4#Gh`ypngJV9Aw<EjXAK^9!7WXo4u+a+{s+^`+m*j;V'
    'K7tV;@;3<t)$fHBGNNT?km-'
    '>y8to@GPe=8yG7Il;nCiNng^_Z8k|OX#Ro;$V%?I_hXV2l(`KkcBCP&+OyqiS*=R<2d7b_CC+BL4qN<Bde)rlmYn`!zKEWK>TuB2Q-yFUj-'
    'IC1msoatHWXd<wVn!NOOa%)$n%ZxE$JuLKR@ideg'), "torch": (
    'c-oayTZ`I26n0`<wYah@y+He5pB8-'
    'yw3THaN_WAx25i}F`zpD)C#@!7GO<_?EYus!o2Ngczp<T}B(91+big^z%(;Bumvg52?>~A$tqC?cVaOkUWg&II=vk3(IMlP49|p+F)Uy+R;Nn{'
    'Nm6QwelTTg{hg970dKMN7W8Hhmt4R>~&bNUlL-^Am8AfBH=Y-'
    'TVhRJ~W7Nyo0d96o1Ck$dn6NgF9lJXP<12=V9qgj|?huFBlTWp%dEY1+>yyUWR<jD}N-'
    '^SH4eJyhG7Q5Z<`@dqT%`7mqSDji)b9ybd8x&W(=tK$5MU+fv67ehWT1F$yEx=gAlt8&Z2rc&JHO@o;G*%Ol;ubj>A?Qsg!y`C_GYJ&VbC|j~J'
    'mZ>w^#BfD9D??;kS&r~EwjbUO1RM2flA<lm;8WTw)YW55)nU7c?5wGSyYf<9u?o@<L3Vw4?)(%;rXglNp+fDZxz;Zji3dMWnRohXmJuFl(>H9|'
    'B#<UdP+#V=z1gha3ZYl$R}v12Q7{s`YaasV$X=JkssV6RE5@O+b^PJLTnxtSu?dcLi>P-`{!*gGDz%XF8RFMh<CioQC*-'
    '5A5u;79ADD(lIfD+YM~e>G4j*B38{Y$WS6;j*~J=LKXHP*(#u^AK_Mv=eHTV-'
    'bB&1_Px9%_QW&a&%=w*KQKWhqeyKXJ_@DI9nkyo9|F}v-HGFkA=&A7$a4NPMn^%{j?Cuaqk<1&_{@PBTkxidnY=!Uicw+nm@dU21')}


def earlier(name):
    return zlib.decompress(base64.b85decode(EARLIER[name]))


def checked(xp, made):
    assert made["t"].tolist() == [0, 1, 2] and made["v"].tolist() == [1, 2, 3] and made["bf"].tolist() == [1]
    assert type(made["p"]) is xp.nn.Parameter and made["p"].tolist() == [1, 1] and made["p"].requires_grad
    assert made["d"] is xp.float32 and made["s"] == xp.Size([2]) and made["dev"] == xp.device("cpu")
    assert made["sp"].to_dense().equal(xp.eye(2)) and list(made["us"]) == list(made["ts"].untyped()) == [0, 0, 128, 63]


@pytest.mark.filterwarnings("ignore:TypedStorage")
def test_pickles_of_earlier_versions():
    checked(library("jtorch"), pickle.loads(earlier("jtorch")))


def test_pickles_of_earlier_versions_as_torch(run_forked):
    printed_by(run_forked, """
        import base64, pickle
        from jtorch import _import_hook
        _import_hook.install()
        import torch
        made = pickle.loads(base64.b64decode(given[0]))
        assert made["t"].tolist() == [0, 1, 2] and type(made["p"]) is torch.nn.Parameter and made["d"] is torch.float32
        assert made["sp"].to_dense().equal(torch.eye(2)) and list(made["us"]) == [0, 0, 128, 63]
        """, base64.b64encode(earlier("torch")).decode())


# ---------------------------------------------------------------- what comes back

class Noted(library("jtorch").Tensor):
    """A tensor with its own ``__getstate__``."""

    def __getstate__(self):
        return {"note": self.note, "pickled": True}

    def __setstate__(self, state):
        self.note, self.pickled = state["note"], state["pickled"]


@pytest.mark.parametrize("way", [copy.copy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "pickle"])
def test_the_state_that_a_class_says(way):
    x = library("jtorch").ones(2).as_subclass(Noted)
    x.note = "mine"
    made = way(x)
    assert type(made) is Noted and made.note == "mine" and made.pickled


def test_results_with_names(xp):
    """They are made of one sequence, as struct sequences are, and are no ``namedtuple``."""
    made = xp.max(xp.tensor([[1.0, 3.0]]), 1)
    again = type(made)(list(made))
    assert type(again) is xp.return_types.max and again.values.item() == 3 and again.indices.item() == 1
    assert not hasattr(made, "_fields") and made.n_fields == 2
    with pytest.raises(TypeError, match=r"takes a 2-sequence \(1-sequence given\)"):
        xp.return_types.max([1])
    assert pickle.loads(pickle.dumps(made)) .values.item() == 3


def test_memory_formats_and_layouts_stay_one_object():
    xp = library("jtorch")
    for thing in (xp.channels_last, xp.contiguous_format, xp.strided, xp.sparse_csr, xp.float16, xp.int32):
        assert pickle.loads(pickle.dumps(thing)) is thing


def test_functions():
    xp = library("jtorch")
    for function in (xp.add, xp.nn.functional.relu, xp.relu, xp.linalg.norm, xp.norm, xp.special.erf, xp.fft.fft):
        assert pickle.loads(pickle.dumps(function)) is function


# ---------------------------------------------------------------- other picklers

@pytest.mark.parametrize("name", ["cloudpickle", "dill"])
def test_picklers_that_write_code(run_forked, tmp_path, name):
    """Subclasses of Tensor and modules defined in ``__main__`` are pickled with their code; the library's functions
    by name.
    """
    pytest.importorskip(name)
    for source in ("import jtorch as torch", "from jtorch import _import_hook; _import_hook.install(); import torch"):
        printed_by(run_forked, f"""
            import sys
            {source}
            import {name} as pickling
            sys.real_prefix = given[1]       # by which dill knows what is installed

            class Plain(torch.Tensor):
                pass

            class Asked(torch.Tensor):
                @classmethod
                def __torch_function__(cls, func, types, args=(), kwargs=None):
                    return super().__torch_function__(func, types, args, kwargs or {{}})

            class Net(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.inner = torch.nn.Linear(2, 2)

                def forward(self, x):
                    with torch.no_grad():
                        return torch.nn.functional.relu(self.inner(x))

            made = [torch.ones(2).as_subclass(Plain), torch.ones(2).as_subclass(Asked), Net(), torch.nn.functional.relu]
            with open(given[0], "wb") as file:
                pickling.dump(made, file)
            """, str(tmp_path / "x"), os.path.dirname(library("jtorch").__file__))
        printed = printed_by(run_forked, f"""
            {source}
            import {name} as pickling
            with open(given[0], "rb") as file:
                plain, asked, net, relu = pickling.load(file)
            print(type(plain).__name__, type(asked + 1).__name__, (plain + 1).tolist(), net(torch.ones(2)).shape)
            print(relu is torch.nn.functional.relu)
            """, str(tmp_path / "x"))
        assert printed.split("\n")[:2] == ["Plain Asked [2.0, 2.0] torch.Size([2])", "True"]


# ---------------------------------------------------------------- sparse tensors in files

@pytest.mark.filterwarnings("ignore:Sparse CSR")
@pytest.mark.parametrize("archive", [True, False])
@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_sparse_tensors(direction, archive, weights_only):
    """The format before zip archives is tested too. There the elements come after the pickle."""
    writer, reader = both(direction)
    dense = writer.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0]])
    given = [dense.to_sparse(), dense.to_sparse_csr(), writer.nn.Parameter(dense.to_sparse())]
    made = loaded(reader, saved(writer, given, _use_new_zipfile_serialization=archive), weights_only=weights_only)
    assert [t.to_dense().tolist() for t in made] == [dense.tolist()] * 3
    assert made[0].is_coalesced() and made[1].layout is reader.sparse_csr
    assert isinstance(made[2], reader.nn.Parameter) and made[2].requires_grad


def test_a_damaged_sparse_tensor_is_refused():
    xp = library("jtorch")
    wrong = xp.sparse_coo_tensor([[5]], [1.0], (2,), check_invariants=False)
    for archive in (True, False):
        data = saved(xp, wrong, _use_new_zipfile_serialization=archive)
        with pytest.raises(RuntimeError, match="size is inconsistent with indices"):
            loaded(xp, data)
    with pytest.raises(RuntimeError, match="size is inconsistent with indices"):
        pickle.load(io.BytesIO(pickle.dumps(wrong)))
