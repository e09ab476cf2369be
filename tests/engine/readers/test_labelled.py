"""Data sets of `xmlc-mlp` by name: XMLC, histories or LIBSVM, whichever files are there."""

import gzip

import numpy as np
import pytest
from hooke.errors import DataInvalid, DataMissing
from hooke.readers import labelled
from hooke.workloads.xmlc_mlp import XmlcMlp

SVM = b"0,2 1:0.5 4:1\n2 3:2\n5 1:1 2:1\n"
XMLC = b"1 7 6\n1 2:3\n"


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOOKE_DATA", str(tmp_path))


def put(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name.replace("_", ".")).write_bytes(data)


@pytest.mark.parametrize("inside", ["libsvm", "."])
def test_a_set_in_the_libsvm_format_is_learned_like_the_same_in_that_of_xmlc(tmp_path, inside):
    """Features count from 1 there and from 0 here; both objectives have the same items and gradients."""
    put(tmp_path / inside, small=SVM * 20, small_t_gz=gzip.compress(b"1 6:1\n"))
    put(tmp_path / "xmlc" / "same", train_txt=b"60 6 6\n" + b"0,2 0:0.5 3:1\n2 2:2\n5 0:1 1:1\n" * 20)
    put(tmp_path / "xmlc" / "same", test_txt=b"1 6 6\n1 5:1\n")
    asked = {"hidden": 8, "output": "sampled", "active": 4}
    found = []
    for name in ("small", "same"):
        XmlcMlp(data=name).find_data()
        objective = XmlcMlp(data=name, **asked).build()
        weights, gradient = objective.initial(1), objective.allocate()
        objective.bind(weights, gradient)
        loss = objective.gradient(objective.pick(np.arange(12)))
        score = objective.evaluate(weights, 0, objective.test_size, "test")
        found.append((objective.train_size, objective.test_size, loss, score, gradient.numpy().tobytes()))
        assert [part.shape for part in objective.layout] == [(6, 8), (8,), (6, 8), (6,)]
    assert found[0] == found[1] and found[0][:2] == (54, 1)


def test_without_a_test_file_an_item_in_ten_is_the_test_part(tmp_path):
    put(tmp_path / "libsvm" / "small", train_txt=SVM * 20)
    train, test, validation = labelled.parts("small", 50, "xmlc-mlp")
    assert (len(train), len(test), validation) == (54, 6, None)


def test_a_folder_of_xmlc_comes_first_and_is_not_taken_for_libsvm_where_it_lacks_a_file(tmp_path):
    put(tmp_path / "small", train_txt=XMLC)
    with pytest.raises(DataMissing, match=r"small lacks test\.txt\. Put train.* files in the LIBSVM format"):
        XmlcMlp(data="small").find_data()
    put(tmp_path / "libsvm", small=SVM, small_t=SVM)
    assert labelled.find("small", "xmlc-mlp")[0] == "libsvm"
    put(tmp_path / "small", test_txt=XMLC)
    kind, files = labelled.find("small", "xmlc-mlp")
    assert (kind, files.test) == ("xmlc", tmp_path / "small" / "test.txt")


def test_a_fault_names_its_line_and_what_would_do_is_told(tmp_path, monkeypatch):
    put(tmp_path / "libsvm", small=SVM + b"1 3:1 2:1\n")
    with pytest.raises(DataInvalid, match="small, line 4, column 7: feature 2 follows feature 3"):
        XmlcMlp(data="small").build()
    with pytest.raises(DataMissing, match=r"LIBSVM format at `libsvm/other` and `libsvm/other\.t`"):
        XmlcMlp(data="other").find_data()
    monkeypatch.delenv("HOOKE_DATA")
    with pytest.raises(DataMissing, match="HOOKE_DATA is not set"):
        XmlcMlp(data="small").find_data()
