import {
  DescribeTasksCommand,
  ECSClient,
  ListTasksCommand,
  RegisterTaskDefinitionCommand,
  RunTaskCommand,
  type RunTaskResponse,
} from "@aws-sdk/client-ecs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { AwsError } from "./fake/api/aws-error.ts";
import { publishedRates } from "./fake/api/request-rates.ts";
import { clientOptions, definitionOf, openRig, runRequest, type Rig } from "./support/rig.ts";

// The faults that tests of the provider script, as AWS's own client sees them.

let rig: Rig;

beforeEach(async () => {
  rig = await openRig({ rates: publishedRates });
  await rig.ecs.send(new RegisterTaskDefinitionCommand(definitionOf()));
});
afterEach(() => rig[Symbol.asyncDispose]());

const run = (clientToken: string = "uid"): Promise<RunTaskResponse> => rig.ecs.send(new RunTaskCommand(runRequest({ clientToken })));
const serverError = new AwsError("ServerException", "Service Unavailable. Please try again later.");

test.each([false, true])("a ServerException can come before or after the task was created: %s", async (afterCommit) => {
  rig.aws.faults.add({ operation: "RunTask", effect: { kind: "error", error: serverError, afterCommit } });
  await expect(run()).rejects.toThrow(
    expect.objectContaining({ name: "ServerException", $metadata: expect.objectContaining({ httpStatusCode: 500 }) }),
  );
  expect(rig.aws.tasks.all).toHaveLength(afterCommit ? 1 : 0);
  const { tasks } = await run();
  expect(rig.aws.tasks.all.map(({ spec }) => spec.arn)).toEqual([tasks?.[0]?.taskArn]);
});

test.each([false, true])("an answer can be lost before or after the task was created: %s", async (afterCommit) => {
  rig.aws.faults.add({ operation: "RunTask", effect: { kind: "lost", afterCommit } });
  await expect(run()).rejects.toThrow(/socket hang up|ECONNRESET/);
  expect(rig.aws.tasks.all).toHaveLength(afterCommit ? 1 : 0);
});

test("an answer can be something else than JSON, with status 200", async () => {
  rig.aws.faults.add({ operation: "ListTasks", effect: { kind: "garbage" } });
  await expect(rig.ecs.send(new ListTasksCommand({}))).rejects.toThrow(SyntaxError);
  expect((await rig.ecs.send(new ListTasksCommand({}))).taskArns).toEqual([]);
});

test("a request can stay without an answer until its client gives up", async () => {
  rig.aws.faults.add({ operation: "ListTasks", effect: { kind: "hang" } });
  const controller = new AbortController();
  const listing = rig.ecs.send(new ListTasksCommand({}), { abortSignal: controller.signal });
  setTimeout(() => controller.abort(), 50);
  await expect(listing).rejects.toThrow(expect.objectContaining({ name: "AbortError" }));
});

test("the second page of a list can fail, and an answer can be altered", async () => {
  for (const token of ["1", "2", "3"]) await run(token);
  await rig.clock.advance(2000);
  rig.aws.faults.add({
    operation: "ListTasks",
    when: ({ nextToken }) => nextToken !== undefined,
    effect: { kind: "error", error: serverError },
  });
  const { nextToken } = await rig.ecs.send(new ListTasksCommand({ maxResults: 2 }));
  await expect(rig.ecs.send(new ListTasksCommand({ maxResults: 2, nextToken }))).rejects.toThrow("Service Unavailable");
  rig.aws.faults.add({ operation: /^List/, effect: { kind: "alter", alter: () => ({ taskArns: [] }) } });
  expect((await rig.ecs.send(new ListTasksCommand({}))).taskArns).toEqual([]);
});

test("a fault ends with its number of times, or when it is taken away", async () => {
  const list = (): Promise<string> =>
    rig.ecs.send(new ListTasksCommand({})).then(
      () => "ok",
      () => "failed",
    );
  rig.aws.faults.add({ operation: "ListTasks", times: 2, effect: { kind: "error", error: serverError } });
  expect([await list(), await list(), await list()]).toEqual(["failed", "failed", "ok"]);
  {
    using _fault = rig.aws.faults.add({ operation: "ListTasks", times: Infinity, effect: { kind: "error", error: serverError } });
    expect([await list(), await list()]).toEqual(["failed", "failed"]);
  }
  expect(await list()).toBe("ok");
});

test("credentials can expire until a client uses new ones", async () => {
  const second = { accessKeyId: "ASIAFAKE000000000002", secretAccessKey: "second-secret-key", sessionToken: "session" };
  let credentials: { readonly accessKeyId: string; readonly secretAccessKey: string; readonly sessionToken?: string } =
    clientOptions("").credentials;
  using client = disposable(
    new ECSClient({ ...clientOptions(rig.aws.endpoint), credentials: async () => ({ ...credentials, expiration: new Date(0) }) }),
  );
  const list = (): Promise<unknown> => client.send(new ListTasksCommand({}));
  await list();
  rig.aws.credentials.expire(credentials.accessKeyId);
  await expect(list()).rejects.toThrow(expect.objectContaining({ name: "ExpiredTokenException" }));
  rig.aws.credentials.accept(second);
  credentials = second;
  await list();
  expect(rig.aws.api.seen.at(-1)?.accessKeyId).toBe(second.accessKeyId);
});

test("requests above a rate are answered with ThrottlingException until the bucket has filled again, and counted", async () => {
  rig.aws.rates.rates = { ListTasks: { burst: 3, perSecond: 2 } };
  const list = (): Promise<string> =>
    rig.ecs.send(new ListTasksCommand({})).then(
      () => "ok",
      (error: Error) => `${error.name}: ${error.message}`,
    );
  const throttled = "ThrottlingException: Rate exceeded";
  expect([await list(), await list(), await list(), await list()]).toEqual(["ok", "ok", "ok", throttled]);
  await rig.clock.advance(500);
  expect([await list(), await list()]).toEqual(["ok", throttled]);
  expect([rig.aws.rates.counts.get("ListTasks"), rig.aws.rates.throttled.get("ListTasks")]).toEqual([6, 2]);
});

test("somebody can tag a task otherwise", async () => {
  const { tasks } = await run();
  const [task] = rig.aws.tasks.all;
  rig.aws.tasks.tag(task?.spec.arn ?? "", () => [{ key: "vk.uid", value: "other" }]);
  await rig.clock.advance(2000);
  const described = await rig.ecs.send(new DescribeTasksCommand({ tasks: [tasks?.[0]?.taskArn ?? ""], include: ["TAGS"] }));
  expect(described.tasks?.[0]?.tags).toEqual([{ key: "vk.uid", value: "other" }]);
});

function disposable(client: ECSClient): ECSClient & Disposable {
  return Object.assign(client, { [Symbol.dispose]: () => client.destroy() });
}
