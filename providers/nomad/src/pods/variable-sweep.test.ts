import { VirtualClock } from "@virtual-kubelet/clock";
import { ConflictError, UnauthorizedError } from "@virtual-kubelet/errdefs";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { JobStub } from "../api/types.ts";
import { jobIdOf } from "../job/job-id.ts";
import { owner } from "../test-support/pods.ts";
import { VariableSweep } from "./variable-sweep.ts";

const [gone, there, other] = [jobIdOf(owner, "gone"), jobIdOf(owner, "there"), jobIdOf({ ...owner, nodeName: "n2" }, "gone")];

let clock: VirtualClock;
let variables: Map<string, number>;
let lists: number;
let refusal: Error | undefined;
/** Jobs of the list that cannot be read. */
let skipped: (string | undefined)[];
let changesBeforeDelete: boolean;
let stop: AbortController;
let running: Promise<void>;

beforeEach(() => {
  [clock, lists, refusal, changesBeforeDelete, stop] = [new VirtualClock(), 0, undefined, false, new AbortController()];
  variables = new Map([`nomad/jobs/${gone}`, `nomad/jobs/${gone}/pod/main`, `nomad/jobs/${there}/pod`].map((path) => [path, 5]));
  skipped = [];
  running = new VariableSweep({
    clock,
    logger: silentLogger,
    client: {
      async listVariables() {
        lists++;
        if (refusal) throw refusal;
        return [...variables].map(([Path, ModifyIndex]) => ({ Path, ModifyIndex }));
      },
      listJobs: async () => ({ items: [{ ID: there } as JobStub], index: 9, skipped }),
      async deleteVariable(path, _signal, cas) {
        if (changesBeforeDelete) variables.set(path, 7);
        if (variables.get(path) !== cas) throw new ConflictError("it was changed meanwhile");
        variables.delete(path);
      },
    },
  }).run(stop.signal);
});
afterEach(async () => {
  stop.abort(new Error("over"));
  await running;
});

const minutes = (count: number): Promise<void> => clock.advance(count * 60_000);

test("variables without a job are deleted when they are found the second time, and those of a job stay", async () => {
  await minutes(1);
  expect(variables.size).toBe(3);
  await minutes(1);
  expect([...variables.keys()]).toEqual([`nomad/jobs/${there}/pod`]);
});

test("a variable that was written in between is of a pod that is just being made", async () => {
  await minutes(1);
  variables.set(`nomad/jobs/${gone}`, 6);
  await minutes(1);
  expect([...variables.keys()]).toEqual([`nomad/jobs/${gone}`, `nomad/jobs/${there}/pod`]);
  await minutes(1);
  expect([...variables.keys()]).toEqual([`nomad/jobs/${there}/pod`]);
});

test("a variable that is written just when it is to be deleted stays", async () => {
  await minutes(1);
  changesBeforeDelete = true;
  await minutes(1);
  expect(variables.size).toBe(3);
});

test("variables of other nodes' pods are swept, and those of no pod are left alone", async () => {
  variables = new Map([
    [`nomad/jobs/${other}`, 1],
    ["nomad/jobs/vk-mine", 1],
    [`nomad/jobs/${gone}x`, 1],
  ]);
  await minutes(2);
  expect([...variables.keys()]).toEqual(["nomad/jobs/vk-mine", `nomad/jobs/${gone}x`]);
});

test("with nothing to sweep, or where it is refused, it is looked every ten minutes", async () => {
  variables.delete(`nomad/jobs/${gone}`);
  variables.delete(`nomad/jobs/${gone}/pod/main`);
  await minutes(11);
  expect(lists).toBe(2);
  refusal = new UnauthorizedError("no");
  await minutes(20);
  expect(lists).toBe(4);
});

test.each([[[gone]], [[undefined]]])("a job that cannot be read is there all the same: %j", async (unreadable) => {
  skipped = unreadable;

  await minutes(15);

  expect(variables.size).toBe(3);
});
