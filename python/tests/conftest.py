"""Documents and judgments of the tests."""

import pytest

import irrs


@pytest.fixture
def notes():
    return [
        {"id": "tea", "text": "Green tea is steeped for two minutes.", "year": 2012, "tags": ["drink", "hot"]},
        {"id": "bread", "title": "Bread", "text": "Bread rises twice before it is baked.", "year": 2020},
        {"id": "milk", "text": "Tea with milk, as they drink it in England.", "year": None},
    ]


@pytest.fixture
def index(notes):
    return irrs.Index.build(notes)
