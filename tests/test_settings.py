"""`vicinal.Settings`: its fields, their documentation, and their info keys."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import pytest
from launching import ROOT
from vicinal import Error, Settings
from vicinal._settings import COMPLETE_GRAPH, GRAPH, HALO, PERSISTENT, SPARSE, info_keys

NAMES = [field.name for field in fields(Settings)]


def test_fields_are_the_info_keys_of_the_header() -> None:
    header = (ROOT / "include" / "vicinal" / "vicinal.h").read_text()
    keys = header[header.index(" * Settings.") : header.index(" * Environment only.")]
    assert sorted(["strategy", *NAMES]) == sorted(re.findall(r"^ \*   vicinal_(\w+)", keys, re.MULTILINE))


def test_each_field_is_documented_in_order_and_few_are_for_everybody() -> None:
    assert Settings.__doc__ is not None
    everybody, experts = Settings.__doc__.split("For everybody\n")[1].split("For experts\n")
    documented = [re.findall(r"^    (\w+)$", part, re.MULTILINE) for part in (everybody, experts)]
    assert documented[0] + documented[1] == NAMES
    assert len(documented[0]) <= 8


def test_values_become_the_texts_of_info_keys() -> None:
    settings = Settings(regions=[0, 0, 1], bias={"split": 2, "direct": 0.5}, verify=True, profile=Path("a"), radix=3)
    assert info_keys(HALO, "split", settings) == {
        "vicinal_strategy": "split", "vicinal_regions": "list:0,0,1", "vicinal_bias": "direct:0.5,split:2.0",
        "vicinal_verify": "1", "vicinal_profile": "a", "vicinal_radix": "3",
    }
    assert info_keys(SPARSE, None, Settings()) == info_keys(SPARSE, None, None) == {}
    assert info_keys(PERSISTENT, "ring", None, "allgather") == {"vicinal_allgather": "ring"}
    assert info_keys(COMPLETE_GRAPH, None, Settings(regions="numa", allgather="ring")) == {
        "vicinal_regions": "numa", "vicinal_allgather": "ring",
    }


@pytest.mark.parametrize("kind", [HALO, GRAPH, COMPLETE_GRAPH, PERSISTENT, SPARSE])
@pytest.mark.parametrize("name", NAMES)
def test_a_field_at_the_wrong_place_is_refused(kind: str, name: str) -> None:
    """The message names other kinds of objects, and these accept the field."""
    given: Any = {name: "x"}
    try:
        assert info_keys(kind, None, Settings(**given)) == {f"vicinal_{name}": "x"}
    except Error as error:
        refused = re.fullmatch(f"{kind} cannot use the setting {name}; give it to (.*?)(, or name the .*)?", str(error))
        assert error.kind == "argument" and refused is not None, error
        for other in refused[1].split(" or "):
            assert other != kind and info_keys(other, None, Settings(**given))


def test_settings_cannot_be_changed() -> None:
    settings: Any = Settings(regions="node")
    with pytest.raises(FrozenInstanceError):
        settings.regions = "numa"
