"""The path `/v3/agents/import-template`, which is also the path of an agent with the id `import-template`."""

from tests.api import Api


def test_an_agent_with_the_id_of_a_word_is_read_changed_and_deleted(api: Api) -> None:
    api.post("/v2/agents/import-template", {"title": "Import"})
    path = "/v3/agents/import-template"
    assert api.get(path).data["title"] == "Import"
    assert api.patch(path, {"agent": {"title": "Changed"}}).data["title"] == "Changed"
    assert api.get(path + "/tools").data == []
    assert api.post(path, {"agentTemplate": {"name": "Other"}}).data["id"] != "import-template"
    assert api.delete(path).status == 200
    assert api.get(path).status == 404


def test_scopes_and_keys_are_those_of_the_view(api: Api, agent_id: str) -> None:
    api.post("/v2/agents/import-template", {})
    scoped = Api(api.post("/v3/tokens", {"token": {"name": "t", "scopes": ["tools:read"]}}).data["token"])
    assert scoped.get("/v3/agents/import-template").status == 403
    assert Api().get("/v3/agents/import-template").status == 401
    assert Api(api.get("/v2/agents/support").json["SECRET_API_KEY"]).delete("/v3/agents/import-template").status == 403
