import { VirtualClock } from "@virtual-kubelet/clock";
import type { ContainerLogOptions, ContainerLogs } from "@virtual-kubelet/core";
import {
  ForbiddenError,
  InvalidInputError,
  NotFoundError,
  QuotaExceededError,
  UnavailableError,
  UnsupportedError,
} from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import type { Answer, ContentAnswer } from "../server/answer.ts";
import { Refusal } from "../server/refusal.ts";
import { fakeNode, fakePod, fakeRequest } from "../test-support/fake-node.ts";
import { testSlots } from "../test-support/test-budgets.ts";
import { containerLogsRoute } from "./container-logs.ts";
import { NodeDirectory } from "./served-node.ts";

/** The route, for a provider that answers with this function. */
function route(getContainerLogs: (options: ContainerLogOptions, signal: AbortSignal) => ContainerLogs, slots = testSlots(1)) {
  const provider = {
    getContainerLogs: async (_pod: unknown, _container: string, options: ContainerLogOptions, signal: AbortSignal) =>
      getContainerLogs(options, signal),
  };
  const directory = new NodeDirectory([fakeNode({ pods: [fakePod()], provider })]);
  return containerLogsRoute({ directory, clock: new VirtualClock(), slots });
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

test("the provider gets the log options, and the server applies those that the provider does not", async () => {
  const asked: ContainerLogOptions[] = [];
  const handler = route((options) => {
    asked.push(options);
    return { data: lines("a\n", "b\n") };
  });

  expect(await textOf(content(await handler(fakeRequest({ query: "tailLines=1&limitBytes=10" }))))).toBe("b\n");
  expect(asked).toEqual([{ follow: false, previous: false, timestamps: false, tailLines: 1, limitBytes: 10 }]);
});

test("the resources of a log are released after the answer, even if nobody reads it", async () => {
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

test("a refused request holds no resources", async () => {
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
  [new ForbiddenError("the back end does not allow it"), 403, "the back end does not allow it"],
  [new UnavailableError("the back end is away"), 500, "the back end is away"],
  [new Error("broken pipe"), 500, "broken pipe"],
  [new QuotaExceededError("too many"), 429, "too many"],
])("%o is answered with %i, so that the API server passes its text on where possible", async (error, status, message) => {
  const handler = route(() => {
    throw error;
  });

  await expect(Promise.resolve(handler(fakeRequest()))).rejects.toMatchObject({ status, message });
});

test.each([
  [{ pod: "" }, '{"message": "Missing podID."}'],
  [{ container: "" }, '{"message": "Missing container name."}'],
  [{ namespace: "" }, '{"message": "Missing podNamespace."}'],
])("a path without %j is refused", async (missing, message) => {
  const params = { namespace: "default", pod: "web", container: "main", ...missing };

  await expect(Promise.resolve(route(() => ({ data: lines() }))(fakeRequest({ params })))).rejects.toMatchObject({ status: 400, message });
});

test.each([
  [{ pod: "db" }, 'pod "db" does not exist'],
  [{ namespace: "other" }, 'pod "web" does not exist'],
  [{ container: "side" }, 'container "side" not found in pod "web"'],
])("%j is not found", async (other, message) => {
  const params = { namespace: "default", pod: "web", container: "main", ...other };

  await expect(Promise.resolve(route(() => ({ data: lines() }))(fakeRequest({ params })))).rejects.toMatchObject({ status: 404, message });
});

test("a pod without a UID is not found", async () => {
  const directory = new NodeDirectory([fakeNode({ pods: [fakePod({ metadata: { namespace: "default", name: "web" } })] })]);
  const handler = containerLogsRoute({ directory, clock: new VirtualClock(), slots: testSlots(1) });

  await expect(Promise.resolve(handler(fakeRequest()))).rejects.toMatchObject({ status: 404 });
});

test("a container without a log is refused in a kubelet's words", async () => {
  const handler = route(() => ({ data: lines() }));

  await expect(Promise.resolve(handler(fakeRequest({ query: "previous=1" })))).rejects.toMatchObject({
    status: 400,
    message: 'previous terminated container "main" in pod "web" not found',
  });
  await expect(Promise.resolve(handler(fakeRequest({ query: "timestamps=1" })))).rejects.toMatchObject({
    message: 'container "main" in pod "web": the provider\'s logs have no times, so --timestamps is not possible',
  });
});

test("sinceSeconds counts back from now, by the wall clock", async () => {
  const asked: ContainerLogOptions[] = [];
  const handler = route((options) => {
    asked.push(options);
    return { data: lines(), timestamps: true };
  });

  await handler(fakeRequest({ query: "sinceSeconds=60" }));

  expect(asked).toMatchObject([{ sinceTime: "2025-12-31T23:59:00.000000000Z" }]);
});

test("if a log fails, the error text follows the output, unless the client has disconnected", async () => {
  async function* breaking(): AsyncGenerator<string> {
    yield "before\n";
    throw new Error("the back end is away");
  }
  const gone = new AbortController();
  const { signal } = gone;

  expect(await textOf(content(await route(() => ({ data: breaking() }))(fakeRequest())))).toBe("before\nthe back end is away\n");
  const answer = content(await route(() => ({ data: breaking() }))(fakeRequest({ signal })));
  gone.abort();
  expect(await textOf(answer)).toBe("");
});

test("a tail that does not fit in memory is requested from the provider a second time", async () => {
  let opened = 0;
  const provider = {
    getContainerLogs: async (): Promise<ContainerLogs> => {
      opened++;
      return { data: lines("a\n", "b\n", "c\n") };
    },
  };
  const directory = new NodeDirectory([fakeNode({ pods: [fakePod()], provider })]);
  const handler = containerLogsRoute({ directory, clock: new VirtualClock(), slots: testSlots(1), maxTailBytes: 1 });

  const answer = content(await handler(fakeRequest({ query: "tailLines=2" })));

  expect(await textOf(answer)).toBe("b\nc\n");
  expect([opened, answer.headers]).toEqual([2, { "content-type": "text/plain; charset=utf-8" }]);
});

test.each([
  [new InvalidInputError("bad option"), 400, {}],
  [new UnavailableError("busy", { retryAfterMs: 1_500 }), 503, { "retry-after": "2" }],
  [new QuotaExceededError("too many"), 429, { "retry-after": "60" }],
  [new Refusal(418, "teapot"), 418, {}],
])("%o has the status %i", async (error, status, headers) => {
  const handler = route(() => {
    throw error;
  });

  await expect(Promise.resolve(handler(fakeRequest()))).rejects.toMatchObject({ status, headers });
});
