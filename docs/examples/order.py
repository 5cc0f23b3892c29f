import json, os, pathlib, sys, time, uuid
import requests

PATIENCE_SECONDS = 1800
session = requests.Session()
session.headers["Authorization"] = "Bearer " + os.environ["TOKEN"]
key_file = pathlib.Path("order.key")


def call(method, path, **options):
    """Retries until the response is final, and waits for an order that is being confirmed."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        try:
            response = session.request(method, os.environ["URL"] + path, timeout=(5, 130), **options)
        except requests.RequestException as error:
            print(error, file=sys.stderr)
            time.sleep(2)
            continue
        status, wait = response.status_code, response.headers.get("Retry-After")
        if status < 500 and status != 429 and not (status == 409 and wait):
            return response
        if order := response.headers.get("Location"):
            call("GET", order, params={"wait": 30})
        else:
            time.sleep(int(wait or 2))
    sys.exit(75)


if not key_file.exists():
    key_file.write_text(str(uuid.uuid4()))  # before the first request: a run after a crash sends the same key
order = {"country": "ru", "period": 30, "count": 2, "max_price": "60.00"}
response = call("POST", "/proxies/buy", json=order, headers={"Idempotency-Key": key_file.read_text()})
print(response.status_code, response.text)
if response.status_code in (401, 403):
    sys.exit(75)  # the token does not work: an earlier request may have bought
if response.ok and "max_price" not in response.headers.get("Order-Guards", ""):
    print("max_price was not read", file=sys.stderr)
key_file.unlink()  # once the result is recorded
sys.exit(0 if response.ok else 1)
