"""The catalogues as mappings."""

from __future__ import annotations

import pytest

import servegrid as sg


def test_names_as_people_write_them() -> None:
    assert sg.gpus["B200"].name == "b200"
    assert sg.models["meta-llama/Llama-3.1-70B-Instruct"].name == "llama-3.1-70b"
    assert "mi355x" in sg.gpus
    assert "nothing" not in sg.gpus
    not_a_name: object = 3
    assert not_a_name not in list(sg.gpus)
    assert not sg.gpus.__contains__(not_a_name)
    assert len(sg.gpus) == len(list(sg.gpus))
    assert sg.gpus.get("nothing") is None


def test_unknown_names_are_key_and_input_errors() -> None:
    with pytest.raises(KeyError):
        sg.gpus["h1000"]
    with pytest.raises(sg.InputError, match="h100"):
        sg.gpus["h1000"]


@pytest.mark.parametrize("catalog", [sg.gpus, sg.models, sg.engines, sg.prices])
def test_prints_and_completes(catalog: sg.catalog.Catalog[object]) -> None:
    names = list(catalog)
    assert names
    assert catalog._ipython_key_completions_() == names
    assert all(name in repr(catalog) for name in names)
    assert catalog._repr_html_().count("<tr>") == len(names) + 1


def test_facts_carry_sources() -> None:
    gpu = sg.gpus["b200"]
    assert gpu.memory.bandwidth == pytest.approx(8e12, rel=0.1)
    assert any("bandwidth" in fact.path and fact.source for fact in gpu.facts)
    assert gpu.fabric.kind == "switched"
    model = sg.models["llama-3.1-70b"]
    assert model.depth == sum(group.count for group in model.layers) == 80
    assert model.layers[0].attention.kind == "full"


def test_prices() -> None:
    sheet = sg.prices[next(iter(sg.prices))]
    offer = sheet.find("b200", 1)
    assert offer is not None
    assert offer.month(1) > 0
    assert sheet.find("nothing", 1) is None
