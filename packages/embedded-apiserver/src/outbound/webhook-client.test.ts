import { VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import { startWebhookServer } from "../test-support/webhook-server.ts";
import { WebhookClient } from "./webhook-client.ts";

const json = { "content-type": "application/json" };

test.each([
  ["is empty", () => new Response("", { headers: json }), "0-length response with status code: 200 and content type: application/json"],
  [
    "breaks off",
    () => new Response("{", { headers: { ...json, "content-length": "9" } }),
    "unexpected error when reading response body. Please retry. Original error: unexpected EOF",
  ],
  [
    "is not compressed although it says so",
    () => new Response("{}", { headers: { ...json, "content-encoding": "gzip" } }),
    "unexpected error when reading response body. Please retry. Original error: gzip: invalid header",
  ],
  ["leads to itself", () => new Response(undefined, { status: 307, headers: { location: "/" } }), 'Post "/": stopped after 10 redirects'],
  [
    "is an error that is no Status",
    () => new Response("{}", { status: 500, headers: json }),
    'an error on the server ("unknown") has prevented the request from succeeding',
  ],
] as const)("a response that %s is an error in the words of the real server", async (_, answer, message) => {
  await using hooks = await startWebhookServer({ "/": answer });
  const resolve = (): never => {
    throw new Error("no service is looked up");
  };
  using client = new WebhookClient({ clock: new VirtualClock(), resolve });
  await expect(client.post(hooks.clientConfig("/"), {}, 10)).rejects.toMatchObject({ message });
});
