import { join } from "node:path";
import { provider } from "@virtual-kubelet/provider-fargate";
import { freePort } from "@virtual-kubelet/testing";
import { describeProvider, requiredFeatures } from "@virtual-kubelet/testing/conformance";
import { afterAll } from "vitest";
import { readFacts } from "../fargate/fake/api/api-facts.ts";
import { AwsError } from "../fargate/fake/api/aws-error.ts";
import { missingTerminals, startAccount } from "../fargate/support/fargate-account.ts";
import { configFor } from "../fargate/support/fargate-config.ts";
import { reportFile, root } from "./support/paths.ts";

// An account in this process whose containers are processes; AWS's own models judge each request.
const aws = await startAccount();
afterAll(() => aws[Symbol.asyncDispose]());

const noTerminals = missingTerminals();

await describeProvider({
  provider,
  config: configFor(aws),
  required: requiredFeatures.fargate,
  lacksPart: {
    "empty-lines": "the log driver awslogs drops empty lines",
    "separate-errors": "ECS runs every command on a terminal, which has one output",
    "probe-commands": "ECS has one health check per container",
    "single-restarts": "ECS cannot restart one container of a task, so the provider replaces the task",
  },
  notRun:
    noTerminals === undefined
      ? {}
      : { exec: noTerminals, "exec-exit-code": noTerminals, "exec-input": noTerminals, "exec-tty": noTerminals },
  backend: {
    leftovers: async () =>
      aws.tasks.all
        .filter(({ desiredStatus }) => desiredStatus === "RUNNING")
        .map(({ spec }) => `task ${spec.id} of ${spec.request.group ?? "no pod"}`),
    async losePod({ uid }) {
      for (const task of aws.tasks.all) if (JSON.stringify(task.tags).includes(uid)) await aws.tasks.lose(task);
    },
    async breakBackend() {
      return aws.faults.add({ operation: /./, times: Infinity, effect: { kind: "lost" } });
    },
    async breakLists() {
      return aws.faults.add({
        operation: "ListTasks",
        times: Infinity,
        effect: { kind: "error", error: new AwsError("ServerException", "Service Unavailable.") },
      });
    },
  },
  // Each container, and each command, is a process or two of this machine.
  timeouts: { startMs: 60_000, endMs: 60_000, callMs: 30_000 },
  port: await freePort(),
  readme: join(root, "providers/fargate/README.md"),
  against: {
    kind: "fake",
    name: "a fake of Amazon ECS in the tests' process, held to AWS's published models",
    version: readFacts("ecs").source.replace(/,.*$/, ""),
  },
  report: reportFile("fargate"),
});
