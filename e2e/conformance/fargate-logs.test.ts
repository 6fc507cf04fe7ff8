import { podRef, type ContainerLogs, type Pod } from "@virtual-kubelet/core";
import { isUnavailable } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { AwsError } from "../fargate/fake/api/aws-error.ts";
import type { FaultEffect } from "../fargate/fake/api/faults.ts";
import { callsWithin, createRunning, openFollowed, outcomeOf, webPod } from "../fargate/support/drive-pods.ts";
import type { OpenedFargate } from "../fargate/support/open-fargate.ts";
import type { RunScript } from "../support/container-host/run-script.ts";

// Containers' output while CloudWatch Logs fails, on virtual time: nothing is lost, nothing comes twice, and no loop is busy.

const { signal } = new AbortController();
const options = { previous: false, timestamps: false };
const lines = Array.from({ length: 120 }, (_, index) => ({ afterMs: index * 1000, text: `line ${index}\n` }));
const wholeOutput = lines.map(({ text }) => text).join("");
const writing: RunScript = { lines, exit: { afterMs: 150_000, exitCode: 0 } };

/** Reads a container's output, also while it is followed. Times before the lines are left out. */
function read(fargate: OpenedFargate, pod: Pod, follow: boolean): { readonly text: () => string; readonly ended: Promise<void> } {
  let text = "";
  const take = async ({ data, live }: ContainerLogs): Promise<void> => {
    for (const part of [data, live])
      if (part) for await (const chunk of part) text += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString();
  };
  const ended = Promise.resolve(fargate.provider.getContainerLogs?.(podRef(pod), "web", { ...options, follow }, signal)).then(
    (logs) => logs && take(logs),
  );
  return { text: () => text.replaceAll(/^\S+Z /gm, ""), ended };
}

const serverError = new AwsError("ServiceUnavailableException", "The service is unavailable.");

test.each<[string, FaultEffect]>([
  ["throttles", { kind: "error", error: new AwsError("ThrottlingException", "Rate exceeded") }],
  ["fails", { kind: "error", error: serverError }],
  ["cuts connections", { kind: "lost" }],
  [
    "does not know the credentials",
    { kind: "error", error: new AwsError("ExpiredTokenException", "The security token included in the request is expired") },
  ],
  ["answers with HTML", { kind: "garbage" }],
  ["answers without a list", { kind: "answer", body: {} }],
  ["answers with null", { kind: "answer", body: { events: null, nextForwardToken: null } }],
])("kubectl logs -f goes on, and loses and repeats nothing, when CloudWatch %s for a minute", async (_what, effect) => {
  const pod = webPod();
  await using fargate = await openFollowed(() => writing, [pod]);
  await createRunning(fargate, pod);
  const followed = read(fargate, pod, true);
  await fargate.clock.advance(20_000);
  const fault = fargate.aws.faults.add({ operation: "GetLogEvents", times: Infinity, effect });
  const calls = await callsWithin(fargate, 60_000);
  fault[Symbol.dispose]();
  await outcomeOf(fargate, followed.ended);

  expect(followed.text()).toBe(wholeOutput);
  expect(calls["GetLogEvents"]).toBeLessThan(60);
});

test.each<[string, (nextToken: unknown) => object]>([
  ["without a list", () => ({})],
  ["whose pages go in a circle", (nextToken) => ({ events: [], nextForwardToken: nextToken === "f/0" ? "f/1" : "f/0" })],
])("an answer of CloudWatch %s is not taken for no output", async (_what, bodyFor) => {
  const pod = webPod();
  await using fargate = await openFollowed(() => writing, [pod]);
  await createRunning(fargate, pod);
  await fargate.clock.advance(60_000);
  for (const isFirst of [true, false])
    fargate.aws.faults.add({
      operation: "GetLogEvents",
      when: ({ nextToken }) => (nextToken === "f/0") !== isFirst,
      times: Infinity,
      effect: { kind: "answer", body: bodyFor(isFirst ? undefined : "f/0") },
    });
  expect((await outcomeOf(fargate, read(fargate, pod, false).ended)).error).toSatisfy(isUnavailable);
});

test.each([false, true])(
  "a line above 16 KiB, which CloudWatch keeps in several events, comes whole and in order, a piece a line (followed: %s)",
  async (follow) => {
    const long = Array.from({ length: 6000 }, (_, index) => `word${index} `).join("");
    const pod = webPod();
    await using fargate = await openFollowed(
      () => ({
        lines: [
          { afterMs: 1000, text: "before\n" },
          { afterMs: 2000, text: `${long}\n` },
          { afterMs: 3000, text: "after\n" },
        ],
        exit: { afterMs: 60_000, exitCode: 0 },
      }),
      [pod],
    );
    await createRunning(fargate, pod);
    if (!follow) await fargate.clock.advance(30_000);
    const reading = read(fargate, pod, follow);
    await outcomeOf(fargate, reading.ended);
    const [first, ...pieces] = reading.text().split("\n");

    expect([first, pieces.at(-2), pieces.at(-1)]).toEqual(["before", "after", ""]);
    expect(pieces.slice(0, -2).join("")).toBe(long);
    expect(
      pieces
        .slice(0, -2)
        .map(({ length }) => length)
        .slice(0, 2),
    ).toEqual([16_384, 16_384]);
  },
);
