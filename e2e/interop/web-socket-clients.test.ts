import { once } from "node:events";
import { describe, expect } from "vitest";
import { WebSocket } from "ws";
import { runningPod, test } from "./support/stream-test.ts";

const protocols = [
  "v5.channel.k8s.io",
  "v4.channel.k8s.io",
  "v4.base64.channel.k8s.io",
  "channel.k8s.io",
  "base64.channel.k8s.io",
  "",
] as const;

/** Text of the streams by channel number. */
type Channels = Record<string, string>;

/** Collects all messages until the server closes the WebSocket. */
async function untilClosed(webSocket: WebSocket): Promise<{ readonly code: number; readonly channels: Channels }> {
  const channels: Channels = {};
  webSocket.on("message", (data: Buffer, isBinary) => {
    const channel = isBinary ? String(data[0]) : data.toString("utf8", 0, 1);
    const text = isBinary ? data.toString("utf8", 1) : Buffer.from(data.toString("utf8", 1), "base64").toString();
    channels[channel] = (channels[channel] ?? "") + text;
  });
  const [code] = (await once(webSocket, "close")) as [number];
  return { code, channels };
}

describe.for([true, false])("a node that declares WebSockets: %s", (declared) => {
  test.for(protocols)("serves a WebSocket client that offers %j", async (protocol, { rig }) => {
    const pod = await runningPod(rig, declared);
    const command = ["sh", "-c", 'read -r line; echo "said $line"; echo wrong >&2; exit 7'];
    const query = [...command.map((word) => `command=${encodeURIComponent(word)}`), "stdin=true", "stdout=true", "stderr=true"].join("&");
    const { url, headers, tls } = rig.cluster.target(`/api/v1/namespaces/${rig.namespace}/pods/${pod}/exec?${query}`);
    const webSocket = new WebSocket(url, protocol === "" ? [] : [protocol], { headers: { ...headers } as Record<string, string>, ...tls });
    const closed = untilClosed(webSocket);
    await once(webSocket, "open");
    expect(webSocket.protocol).toBe(protocol);

    webSocket.send(protocol.includes("base64") ? `0${Buffer.from("hello\n").toString("base64")}` : Buffer.from("\0hello\n"));

    const { code, channels } = await closed;
    // A server that translates protocols appends its own text to this message.
    const words = "command terminated with non-zero exit code";
    const { 1: stdout, 2: stderr, 3: status = "" } = channels;
    expect({ code, stdout, stderr }).toEqual({ code: 1000, stdout: "said hello\n", stderr: "wrong\n" });
    if (/^v[45]/.test(protocol))
      expect(JSON.parse(status)).toMatchObject({
        status: "Failure",
        reason: "NonZeroExitCode",
        message: expect.stringContaining(words),
        details: { causes: [{ reason: "ExitCode", message: "7" }] },
      });
    else expect(status).toContain(words);
  });
});

test("an upgrade that the node refuses is refused by the API server", async ({ rig }) => {
  const pod = await runningPod(rig, true);
  const { url, headers, tls } = rig.cluster.target(`/api/v1/namespaces/${rig.namespace}/pods/${pod}/exec?command=true&stdout=true`);
  const webSocket = new WebSocket(url, ["v9.channel.k8s.io"], { headers: { ...headers } as Record<string, string>, ...tls });

  const [error] = (await once(webSocket, "error")) as [Error];

  expect(error.message).toBe("Unexpected server response: 403");
});
