import assert from "node:assert/strict";
import { duplexPair, PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import type { PodRef } from "@virtual-kubelet/core";
import { isNotFound, isUnavailable } from "@virtual-kubelet/errdefs";
import { check, type Check } from "../check.ts";
import type { ProviderRig } from "../provider-rig.ts";
import { capture } from "./capture.ts";

/** A pod that answers HTTP on the suite's port. */
async function server(rig: ProviderRig): Promise<{ readonly ref: PodRef; readonly port: number }> {
  const port = rig.options.port ?? 18_080;
  const ref = await rig.run({ containers: [{ program: { kind: "http", port }, ports: [{ containerPort: port }] }] });
  await rig.eventually(async () => assert.match(await ask(rig, ref, port), /^HTTP\/1\.[01] 200/), {
    timeoutMs: rig.timeouts.startMs,
    intervalMs: 200,
  });
  return { ref, port };
}

/** Response to one request over a forwarded port. */
async function ask(rig: ProviderRig, ref: PodRef, port: number): Promise<string> {
  const [client, far] = duplexPair();
  assert.ok(rig.provider.portForward);
  const forwarding = rig.provider.portForward(ref, port, far, rig.signal);
  // A refused port leaves its stream to the caller.
  forwarding.catch(() => client.destroy());
  client.on("error", () => {});
  client.end("GET / HTTP/1.0\r\n\r\n");
  const answer = await rig.within(
    "an answer over a forwarded port",
    text(client).catch(() => ""),
  );
  await rig.within("portForward, both ends of which have ended", forwarding);
  return answer;
}

/** Attach and port-forward. */
export const streamChecks: readonly Check[] = [
  check(
    "attach",
    "input reaches the container, its output reaches the client, and the container runs on when the client leaves",
    async (rig) => {
      const ref = await rig.run({ containers: [{ program: { kind: "echo-input" }, stdin: true }] });
      for (const word of ["first", "second"]) {
        const stdin = new PassThrough();
        const io = capture({ stdin });
        const controller = new AbortController();
        assert.ok(rig.provider.attachToContainer);
        const attached = rig.provider.attachToContainer(ref, "main", io, controller.signal).then(
          () => undefined,
          (error: unknown) => error,
        );
        stdin.write(`${word}\n`);
        await rig.eventually(() => assert.match(io.out(), new RegExp(`${word}\n`)), { timeoutMs: rig.timeouts.callMs });
        const reason = new Error("the client is gone");
        controller.abort(reason);
        const error = await rig.within("an aborted attach", attached);
        assert.ok(error === undefined || error === reason, `an aborted attach throws the signal's reason, and threw ${String(error)}`);
        assert.ok(word === "first" || !io.out().includes("first"), "attach shows what was written before");
        stdin.destroy();
      }
      assert.equal((await rig.status(ref)).phase, "Running", "the container ended with its client");
    },
    ({ lacksPart }) => lacksPart?.["attach-input"],
  ),
  check("attach", "attach ends with the container", async (rig) => {
    // Leaves enough time to attach before the container ends.
    const ref = await rig.run({ containers: [{ program: { kind: "exit", exitCode: 0, afterSeconds: 5 } }] });
    const attached = rig.provider.attachToContainer?.(ref, "main", capture(), rig.signal);
    await rig.within("attach to a container that has ended", Promise.resolve(attached), 5000 + rig.timeouts.startMs + rig.timeouts.endMs);
  }),
  check("attach", "a missing container is not found", async (rig) => {
    const ref = await rig.run();
    await assert.rejects(Promise.resolve(rig.provider.attachToContainer?.(ref, "no-such-container", capture(), rig.signal)), (error) =>
      isNotFound(error),
    );
  }),
  check("port-forward", "a port of a pod answers repeatedly, also after the client has ended its input", async (rig) => {
    const { ref, port } = await server(rig);
    for (let attempt = 0; attempt < 2; attempt++)
      await rig.eventually(async () => assert.match(await ask(rig, ref, port), /^HTTP\/1\.[01] 200/), { timeoutMs: rig.timeouts.callMs });
  }),
  check("port-forward", "a port that nothing listens on is Unavailable", async (rig) => {
    const ref = await rig.run();
    const [, far] = duplexPair();
    await assert.rejects(
      rig.within("portForward", Promise.resolve(rig.provider.portForward?.(ref, 9, far, rig.signal))),
      (error) => isUnavailable(error),
      "portForward must throw UnavailableError where nothing listens",
    );
    far.destroy();
  }),
  check("port-forward", "a forward whose client disconnects returns and releases its stream", async (rig) => {
    const { ref, port } = await server(rig);
    const [client, far] = duplexPair();
    client.on("error", () => {});
    far.on("error", () => {});
    const controller = new AbortController();
    const settled = rig.provider.portForward?.(ref, port, far, controller.signal).then(
      () => undefined,
      (error: unknown) => error,
    );
    await rig.clock.sleep(100);
    controller.abort(new Error("the client is gone"));
    await rig.within("an aborted forward", Promise.resolve(settled));
    client.destroy();
    far.destroy();
  }),
];
