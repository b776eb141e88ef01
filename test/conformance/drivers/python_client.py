"""Drives the Python clients of Segment and Rudder, which have the same methods: argument 1 is the module."""

import importlib
import json
import logging
import sys
import time

PARAMETERS = {
    "userId": "user_id",
    "anonymousId": "anonymous_id",
    "previousId": "previous_id",
    "groupId": "group_id",
}
SENT = "data uploaded successfully"


class CountSent(logging.Handler):
    """Counts the requests that the client takes for delivered, which it only logs."""

    sent = 0

    def emit(self, record):
        if record.getMessage() == SENT:
            self.sent += 1


def drive(module, task):
    client_module = importlib.import_module(module + ".client")
    counter = CountSent()
    log = logging.getLogger(module.split(".")[0])
    log.addHandler(counter)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    errors = []
    client = client_module.Client(
        task["writeKey"],
        host=task["apiHost"],
        on_error=lambda error, batch: errors.append(str(error)),
        **task.get("config", {}),
    )
    for sequence in task["sequences"]:
        time.sleep(sequence["delayMs"] / 1000)
        for event in sequence["events"]:
            given = {PARAMETERS.get(name, name): value for name, value in event.items() if name != "type"}
            accepted, _ = getattr(client, event["type"])(**given)
            if not accepted:
                errors.append("the queue of the client is full")
    client.shutdown()
    result = {"success": not errors, "sentBatches": counter.sent}
    return {**result, "error": errors[0]} if errors else result


if __name__ == "__main__":
    text = sys.argv[sys.argv.index("--input") + 1]
    if text.startswith("@"):
        with open(text[1:], encoding="utf-8") as file:
            text = file.read()
    print(json.dumps(drive(sys.argv[1], json.loads(text))))
