"""A visitor token reads only the agent and metadata members that the models declare as public.

Each of these members is in exactly one list below. A test fails for a new member until one of the lists contains it.
"""

from typing import Any

import pytest

from chalicelib.agents.record import AgentV2, Theme
from chalicelib.conversations.models import ConvoMeta
from chalicelib.http import projections
from chalicelib.http.wire import WireModel, marked
from tests import generated_docs
from tests.api import Api
from tests.contract.member_table import document

STATE = "/agents/support/interact/ann/state"

PUBLIC: dict[type[WireModel], str] = {
    AgentV2: """agentPlatform title description theme customThemeJSONString
        roundedImageURL avatarImageUrl headerImageUrl bannerImageUrl chatBgURL fontFamily branding buttonsLayout
        ADVANCED_customCSS lang UIhandoffdescription UIhandoffSubdescription proactiveMessage vg_initMessages
        messageDelayMS disableSmoothScroll autoStartWidget listenForUrlChanges chatForget
        enableAudioSupport enableQuickFileUpload alwaysShowHandoff fixedHandoffPopup showHandoffEvenIfOffline""",
    Theme: "themeType primary nineColorPallet",
    ConvoMeta: """ID userID userName userEmail userImage userPhone userProfilePic origin state ts lastModified
        messagesNum interactionsNum firstMessageTS lastMessageTS""",
}
PRIVATE: dict[type[WireModel], str] = {
    AgentV2: """VF_DIALOGUE_API_KEY VF_PROJECT_API_KEY SECRET_API_KEY chatappToken chatappNumberId chatappBusniessId
        webhookUrl cloudPrivateKey cloudClientEmail vg_systemPrompt vg_temperature vg_maxTokens vg_kbDefaultDimension
        vg_kbTopChunks vg_defaultModel vg_enableUIEngine recordChatHistory enableAITranslate disableNoReplyListener
        smartInit""",
    Theme: "",
    ConvoMeta: "userBrowser userPlatform tags convoTimeSeconds chatAssignedTo sessionsNum labels",
}


@pytest.fixture
def visitor_view(api: Api, agent_id: str) -> Any:
    """Return the state route's response to a visitor token; the agent and the conversation contain every member."""
    every = {name: value for name, value in document("agent_v3", whole=True).items() if name != "SECRET_API_KEY"}
    of_v2 = {name: value for name, value in document("agent_v2", whole=True).items() if name != "SECRET_API_KEY"}
    metadata = document("convo_meta", whole=True)
    for answer in (
        api.patch("/v3/agents/support", {"agent": {**every, "unknown": "of v3"}}),
        api.post("/v2/agents/support", {**of_v2, "undeclared": "of v2"}),
        api.post(STATE, {"metadata": metadata}),
    ):
        assert answer.status == 200, answer.text
    token = api.post("/agents/support/interact/ann/visitor-tokens", {"token": {}}).data["token"]
    answer = Api(token).post(STATE, {"metadata": {"userName": "Ann"}})
    assert answer.status == 200, answer.text
    return answer.json


@pytest.mark.parametrize("model", PUBLIC, ids=lambda model: model.__name__)
def test_it_is_decided_of_every_member_whether_a_visitor_token_is_shown_it(model: type[WireModel]) -> None:
    public, private = PUBLIC[model].split(), PRIVATE[model].split()
    assert sorted([*public, *private]) == sorted(model.model_fields)
    assert marked(model, "x-public") == set(public)


@pytest.mark.parametrize("model", PUBLIC, ids=lambda model: model.__name__)
def test_no_public_member_is_secret_and_every_object_inside_is_in_a_list(model: type[WireModel]) -> None:
    assert not marked(model, "x-public") & marked(model, "x-secret")
    assert set(projections.nested_models(model).values()) <= PUBLIC.keys()


def test_a_visitor_token_is_shown_the_public_members_and_no_others(visitor_view: Any) -> None:
    assert set(visitor_view["agentData"]) == set(PUBLIC[AgentV2].split())
    assert set(visitor_view["agentData"]["customThemeJSONString"]) == set(PUBLIC[Theme].split())
    # The service itself sets message counts and times, and this conversation has no message from the user.
    assert set(visitor_view["chatState"]) == set(PUBLIC[ConvoMeta].split()) - {"firstMessageTS", "lastMessageTS"}


def test_the_key_of_the_agent_is_shown_everything_that_a_visitor_token_is_not(api: Api, visitor_view: Any) -> None:
    key = api.get("/v2/agents/support").json["SECRET_API_KEY"]
    state = Api(key).post(STATE).json
    hidden = set(PRIVATE[AgentV2].split()) - {"SECRET_API_KEY"}
    assert hidden | {"undeclared"} <= set(state["agentData"])
    assert set(PRIVATE[ConvoMeta].split()) <= set(state["chatState"])


def test_the_guide_lists_the_public_members() -> None:
    """The table follows the member order in the models. `CAMS_UPDATE_DOCS=1` writes the table."""
    rows = []
    for record, model in {"agentData": AgentV2, "chatState": ConvoMeta}.items():
        names = (f"`{name}`" for name in model.model_fields if name in marked(model, "x-public"))
        rows.append((f"`{record}`", ", ".join(names)))
    table = generated_docs.table(["Record", "Public members"], rows)
    generated_docs.check("docs/guide.md", "public", table)
