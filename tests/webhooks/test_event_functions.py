"""The event functions run without the application: they import neither the app nor its request models.

`tests/test_structure.py` tests that they do not import pydantic, which moto imports here.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

RUN = """
import sys
from moto import mock_aws
from chalicelib import maintenance, storage
from chalicelib.webhooks import functions
from infra import tables
edge = {"app", "chalicelib.http.wire", "chalicelib.http.bodies", "chalicelib.http.auth"}
with mock_aws():
    tables.create_missing(storage.sdk_client)
    for name in ("agents", "conversations", "clients", "organisations", "leads"):
        getattr(functions, "fan_out_" + name)({"Records": [{"eventID": "1", "dynamodb": {}}]}, None)
    for name in ("deliver", "deliver_slow"):
        getattr(functions, name)({"Records": [{"body": "junk"}, {"body": '["w","e","t",["i"],""]'}]}, None)
    tasks = ("junk", '["ContinueFanOut","w","t",[["0"]]]')
    records = [{"messageId": body, "body": body} for body in tasks]
    assert maintenance.maintain({"Records": records}, None) == {"batchItemFailures": [{"itemIdentifier": "junk"}]}
    sqs = storage.sdk_client("sqs")
    url = sqs.get_queue_url(QueueName="cams-deliveries-dead")["QueueUrl"]
    print(len(sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]), sorted(edge & set(sys.modules)))
"""


def test_the_event_functions_import_neither_the_application_nor_wire_models() -> None:
    ran = subprocess.run([sys.executable, "-c", RUN], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1] == "7 []"
