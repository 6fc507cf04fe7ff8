import { ECSClient } from "@aws-sdk/client-ecs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeEndpoint, type Body } from "../test-support/fake-endpoint.ts";
import { EcsApi } from "./ecs-api.ts";

const { signal } = new AbortController();
let aws: FakeEndpoint;
let client: ECSClient;
let api: EcsApi;

beforeEach(async () => {
  aws = await FakeEndpoint.start();
  const credentials = { accessKeyId: "AKIA", secretAccessKey: "key" };
  client = new ECSClient({ endpoint: aws.url, region: "eu-west-1", maxAttempts: 1, credentials });
  api = new EcsApi({ client, cluster: "default", budget: { run: (_call, aborted, send) => send(aborted) } });
});
afterEach(async () => {
  client.destroy();
  await aws[Symbol.asyncDispose]();
});

const list = (): Promise<readonly string[]> => api.listTasks({ desiredStatus: "STOPPED" }, signal);

/** Answers one page after the other. */
function answerPages(...pages: readonly Body[]): void {
  const next = pages.values();
  aws.answers["ListTasks"] = () => next.next().value ?? {};
}

describe("a list", () => {
  test("has the entries of all pages, and ends with the page whose token is missing or empty", async () => {
    answerPages({ taskArns: ["a"], nextToken: "1" }, { taskArns: [], nextToken: "2" }, { taskArns: ["b"], nextToken: "" });

    expect(await list()).toEqual(["a", "b"]);
    expect(aws.inputs("ListTasks").map(({ nextToken }) => nextToken)).toEqual([undefined, "1", "2"]);
  });

  test.each<[string, Body]>([
    ["no list", {}],
    ["null", { taskArns: null }],
    ["a text", { taskArns: "abc" }],
    ["an object", { taskArns: { "0": "a" } }],
    ["entries that are no ARNs", { taskArns: [{}] }],
  ])("with %s is not an empty one", async (_what, page) => {
    answerPages({ taskArns: ["a"], nextToken: "1" }, page);

    await expect(list()).rejects.toMatchObject({ code: "VK_UNAVAILABLE", message: expect.stringMatching(/^list tasks: /) as string });
  });

  test("whose pages go in a circle ends with an error", async () => {
    aws.answers["ListTasks"] = ({ nextToken }) => ({ taskArns: [], nextToken: nextToken === "1" ? "2" : "1" });

    await expect(list()).rejects.toMatchObject({ code: "VK_UNAVAILABLE", message: expect.stringContaining("in a circle") as string });
    expect(aws.calls).toHaveLength(3);
  });
});

describe("a task", () => {
  const run = (): Promise<unknown> => api.runTask({ taskDefinition: "vk-x" }, "shop/web", signal);

  test.each<Body>([{}, { tasks: [], failures: [] }, { tasks: null, failures: null }, { tasks: [{}], failures: [{}] }])(
    "may have been started if the answer is %j",
    async (answer) => {
      aws.answers["RunTask"] = () => answer;

      await expect(run()).rejects.toMatchObject({ code: "VK_UNAVAILABLE" });
    },
  );

  test("was not started if the answer says why", async () => {
    aws.answers["RunTask"] = () => ({ tasks: [], failures: [{ reason: "RESOURCE:ENI" }] });

    await expect(run()).rejects.toMatchObject({ code: "VK_QUOTA_EXCEEDED", message: expect.stringContaining("RESOURCE:ENI") as string });
  });
});
