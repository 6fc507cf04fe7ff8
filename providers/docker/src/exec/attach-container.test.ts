import { isNotFound } from "@virtual-kubelet/errdefs";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { capture } from "../test-support/captured-io.ts";
import { startFakeEngine } from "../test-support/fake-engine-server.ts";
import { frame } from "../test-support/frames.ts";
import { inspected } from "../test-support/inspected.ts";
import { attachContainer } from "./attach-container.ts";

const { signal: never } = new AbortController();

test("a client's end of input ends a container's where it has stdinOnce, and detach keys are none that people type", async () => {
  await using fake = await startFakeEngine({
    answers: inspected(),
    upgrades: { "/containers/c/attach": (socket) => void text(socket).then((input) => socket.end(frame(1, input))) },
  });
  const io = capture(Readable.from([Buffer.from("typed")]));

  await attachContainer(fake.engine, "c", io, never);

  expect(String(io.stdout.read())).toBe("typed");
  const { query } = fake.requests.find(({ path }) => path === "/containers/c/attach") ?? {};
  expect(query?.get("stdin")).toBe("true");
  expect(query?.get("logs")).toBeNull();
  expect(query?.get("detachKeys")).toMatch(/^ctrl-\^,/);
});

test("a container that has ended cannot be attached to", async () => {
  await using fake = await startFakeEngine({ answers: inspected({ running: false }) });

  await expect(attachContainer(fake.engine, "c", capture(), never)).rejects.toSatisfy(isNotFound);
});
