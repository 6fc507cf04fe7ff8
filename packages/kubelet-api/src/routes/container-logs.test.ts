import type { ContainerLogOptions, ContainerLogs } from "@virtual-kubelet/core";
import { NotFoundError, QuotaExceededError, UnavailableError, UnsupportedError } from "@virtual-kubelet/errdefs";
import { FakeClock } from "@virtual-kubelet/kube-client/testing";
import { expect, test } from "vitest";
import type { Answer, ContentAnswer } from "../server/answer.ts";
import { StreamSlots } from "../streams/stream-slots.ts";
import { fakeNode, fakePod, fakeRequest } from "../test-support/fake-node.ts";
import { containerLogsRoute } from "./container-logs.ts";
import { NodeDirectory } from "./served-node.ts";

/** The route, on a provider that answers so. */
function route(getContainerLogs: (options: ContainerLogOptions, signal: AbortSignal) => ContainerLogs, slots = new StreamSlots(1)) {
  const provider = {
    getContainerLogs: async (_pod: unknown, _container: string, options: ContainerLogOptions, signal: AbortSignal) =>
      getContainerLogs(options, signal),
  };
  const directory = new NodeDirectory([fakeNode({ pods: [fakePod()], provider })]);
  return containerLogsRoute({ directory, clock: new FakeClock(), slots });
}

async function* lines(...parts: string[]): AsyncGenerator<string> {
  yield* parts;
}

function content(answer: Answer): ContentAnswer {
  if ("taken" in answer) throw new Error("no content");
  return answer;
}

async function textOf({ body }: ContentAnswer): Promise<string> {
  if (typeof body === "string" || !(Symbol.asyncIterator in body)) throw new Error("no stream");
  let text = "";
  for await (const chunk of body) text += Buffer.from(chunk).toString();
  return text;
}

test("the provider is told what is wanted, and what it leaves is done", async () => {
  const asked: ContainerLogOptions[] = [];
  const handler = route((options) => {
    asked.push(options);
    return { data: lines("a\n", "b\n") };
  });

  expect(await textOf(content(await handler(fakeRequest({ query: "tailLines=1&limitBytes=10" }))))).toBe("b\n");
  expect(asked).toEqual([{ follow: false, previous: false, timestamps: false, tailLines: 1, limitBytes: 10 }]);
});

test("what a log holds is let go of when the answer is over, also if nobody ever read it", async () => {
  const signals: AbortSignal[] = [];
  const handler = route((_options, signal) => {
    signals.push(signal);
    return { data: lines() };
  });

  const answer = content(await handler(fakeRequest()));
  await expect(Promise.resolve(handler(fakeRequest()))).rejects.toMatchObject({ status: 503 });
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  answer.held?.[Symbol.dispose]();

  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  expect(content(await handler(fakeRequest()))).toMatchObject({ status: 200 });
});

test("a refusal holds nothing", async () => {
  const signals: AbortSignal[] = [];
  const handler = route((_options, signal) => {
    signals.push(signal);
    return { data: lines() };
  });

  await expect(Promise.resolve(handler(fakeRequest({ query: "timestamps=1" })))).rejects.toMatchObject({ status: 400 });
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  expect(content(await handler(fakeRequest()))).toMatchObject({ status: 200 });
});

test.each([
  [new NotFoundError("no container of that pod"), 400, "no container of that pod"],
  [new UnsupportedError("provider acme does not support logs"), 400, "provider acme does not support logs"],
  [new UnavailableError("the back end is away"), 500, "the back end is away"],
  [new Error("broken pipe"), 500, "broken pipe"],
  [new QuotaExceededError("too many"), 429, "too many"],
])("%o comes as %i, so that the API server hands its text on where it can", async (error, status, message) => {
  const handler = route(() => {
    throw error;
  });

  await expect(Promise.resolve(handler(fakeRequest()))).rejects.toMatchObject({ status, message });
});
