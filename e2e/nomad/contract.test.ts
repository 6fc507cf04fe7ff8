import { isConflict, isInvalidInput, isNotFound, isUnavailable } from "@virtual-kubelet/errdefs";
import { noMetrics, silentLogger } from "@virtual-kubelet/kube-client";
import { eventually } from "@virtual-kubelet/testing";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { WebSocket } from "ws";
import { heartbeatFrame, inputEndFrame, inputFrames, readExecFrame } from "../../providers/nomad/src/api/exec-frames.ts";
import { jsonObjects } from "../../providers/nomad/src/api/json-objects.ts";
import { NomadClient } from "../../providers/nomad/src/api/nomad-client.ts";
import type { NomadHttp } from "../../providers/nomad/src/api/nomad-http.ts";
import { ObjectReader } from "../../providers/nomad/src/api/object-reader.ts";
import type { Allocation, NomadEvent, NomadJob } from "../../providers/nomad/src/api/types.ts";
import { httpTo, openNomad, type NomadBackend } from "./backend.ts";
import { jobWith as newJob, taskWith, wait } from "./test-jobs.ts";

// Behavior of Nomad that the provider relies on. The tests run on the fake and, with E2E_NOMAD=real, on a real agent.
const { signal } = new AbortController();
const soon = { timeoutMs: 60_000, intervalMs: 50 };

let nomad: NomadBackend;
let http: NomadHttp;
let client: NomadClient;
const made = new Set<string>();
const skipped: object[] = [];

beforeAll(async () => {
  nomad = await openNomad();
  http = httpTo(nomad);
  const warn = (fields: object): void => void skipped.push(fields);
  client = new NomadClient(http, new ObjectReader({ logger: { ...silentLogger, warn }, metrics: noMetrics }), "default");
});
afterEach(() => expect(skipped, "what Nomad says can be read").toEqual([]));
afterAll(async () => {
  for (const id of made) await client.stopJob(id, { purge: true }, signal);
  await http[Symbol.asyncDispose]();
  await nomad[Symbol.asyncDispose]();
});

/** A raw frame of the event stream. */
interface RawFrame {
  readonly Index?: number;
  readonly Events?: readonly (NomadEvent & { readonly Payload?: { readonly Allocation?: Allocation } | null })[];
}

/** Creates a job that is purged after the tests. */
function jobWith(...input: Parameters<typeof newJob>): NomadJob {
  const job = newJob(...input);
  made.add(job.ID);
  return job;
}

/** Registers a job and waits until its allocation passes the check. */
async function run(job: NomadJob, check: (allocation: Allocation) => void): Promise<Allocation> {
  await client.registerJob(job, 0, signal);
  return untilAllocation(job, check);
}

async function untilAllocation(job: NomadJob, check: (allocation: Allocation) => void): Promise<Allocation> {
  return eventually(async () => {
    const [allocation] = await client.jobAllocations(job.ID, signal);
    expect(allocation).toBeDefined();
    check(allocation as Allocation);
    return allocation as Allocation;
  }, soon);
}

const isRunning = ({ TaskStates }: Allocation): void => expect(TaskStates?.["main"]?.State).toBe("running");
/** A script that ignores SIGTERM, and prints a line when it does. Only SIGKILL ends it. */
const deaf = "trap '' TERM; echo deaf; while :; do sleep 0.1; done";

/** Runs a job whose task ignores SIGTERM. */
async function runDeaf(job: NomadJob): Promise<Allocation> {
  const allocation = await run(job, isRunning);
  await eventually(async () => expect(await readLog(allocation.ID)).toBe("deaf\n"), soon);
  return allocation;
}

describe("jobs", () => {
  test("a registration that requires a new job succeeds once and then conflicts, as does a change at an old index", async () => {
    const job = jobWith([taskWith(wait)]);
    await client.registerJob(job, 0, signal);

    await expect(client.registerJob(job, 0, signal)).rejects.toSatisfy(isConflict);
    await expect(client.registerJob(job, 1, signal)).rejects.toSatisfy(isConflict);
  });

  test("registering an unchanged job again changes only the index in the response", async () => {
    const job = jobWith([taskWith(wait)]);
    await client.registerJob(job, 0, signal);
    const before = await client.readJob(job.ID, signal);
    await client.registerJob(job, before.JobModifyIndex, signal);

    expect((await client.readJob(job.ID, signal)).JobModifyIndex).toBe(before.JobModifyIndex);
  });

  test("a job whose logs exceed its disk is refused for good, with status 500", async () => {
    const job = jobWith([taskWith(wait, { LogConfig: { MaxFiles: 10, MaxFileSizeMB: 10 } })]);

    await expect(client.registerJob(job, 0, signal)).rejects.toSatisfy(isInvalidInput);
  });

  test("a missing job cannot be read, but can be stopped and purged", async () => {
    await expect(client.readJob("vk-contract-none", signal)).rejects.toSatisfy(isNotFound);
    await client.stopJob("vk-contract-none", { purge: false }, signal);
    await client.stopJob("vk-contract-none", { purge: true }, signal);
  });

  test("lists can be filtered by the job's meta, and have the recorded keys", async () => {
    const job = jobWith([taskWith(wait)]);
    await run(job, isRunning);
    const byMeta = `Meta["vk.job"] == ${JSON.stringify(job.ID)}`;
    const { items: jobs, index } = await client.listJobs(byMeta, signal);
    // Reads the raw response, because the client omits unknown fields.
    const query = { task_states: true, filter: `Job.${byMeta}` };
    const { body: allocations } = await http.json<readonly object[]>({ path: "/allocations", query, what: "list allocations" }, signal);

    expect(jobs.map(({ ID, Meta }) => [ID, Meta])).toEqual([[job.ID, job.Meta]]);
    expect(index).toBeGreaterThan(0);
    const fixture = JSON.parse(
      await readFile(new URL("../../providers/nomad/fixtures/03-allocations-list.json", import.meta.url), "utf8"),
    ) as {
      readonly body: readonly object[];
    };
    expect(allocations).toHaveLength(1);
    const known = Object.keys(fixture.body[0] ?? {});
    expect(Object.keys(allocations[0] ?? {}).filter((key) => !known.includes(key))).toEqual([]);
    expect(allocations[0]).not.toHaveProperty("NetworkStatus");
  });

  test("a stopped job's allocation ends as complete with any exit code, and a purge removes it at once", async () => {
    const job = jobWith([taskWith(deaf)]);
    await runDeaf(job);
    await client.stopJob(job.ID, { purge: false }, signal);
    const ended = await untilAllocation(job, ({ ClientStatus }) => expect(ClientStatus).toBe("complete"));

    expect(ended.DesiredStatus).toBe("stop");
    expect(ended.TaskStates?.["main"]?.Events?.findLast(({ Type }) => Type === "Terminated")?.ExitCode).toBe(137);
    expect((await client.readJob(job.ID, signal)).Stop).toBe(true);
    await client.stopJob(job.ID, { purge: true }, signal);
    await expect(client.readJob(job.ID, signal)).rejects.toSatisfy(isNotFound);
    await expect(client.readAllocation(ended.ID, signal)).rejects.toSatisfy(isNotFound);
  });

  test("a stopped allocation ends like a migrated one, and its transition shows that it was stopped", async () => {
    const job = jobWith([taskWith(wait)]);
    const { ID } = await run(job, isRunning);
    expect((await nomad.request("PUT", `/allocation/${ID}/stop`)).status).toBe(200);
    await eventually(async () => {
      const stopped = (await client.listAllocations(`JobID == ${JSON.stringify(job.ID)}`, signal)).items.find((each) => each.ID === ID);
      expect(stopped).toMatchObject({ ClientStatus: "complete", DesiredStatus: "stop", DesiredTransition: { Migrate: true } });
      expect(stopped?.DesiredTransition?.NoShutdownDelay).toBe(false);
    }, soon);
    await eventually(async () => expect(await client.jobAllocations(job.ID, signal)).toHaveLength(2), soon);
  });

  test("a changed kill time-out is updated in place and does not apply to a running task", async () => {
    const job = jobWith([taskWith(deaf, { KillTimeout: 3e9 })]);
    const { ID } = await runDeaf(job);
    const { JobModifyIndex } = await client.readJob(job.ID, signal);
    const [group] = job.TaskGroups;
    const TaskGroups = group ? [{ ...group, Tasks: group.Tasks.map((task) => ({ ...task, KillTimeout: 1e8 })) }] : [];
    await client.registerJob({ ...job, TaskGroups }, JobModifyIndex, signal);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect((await client.jobAllocations(job.ID, signal)).map((allocation) => allocation.ID)).toEqual([ID]);
    const startedMs = performance.now();
    await client.stopJob(job.ID, { purge: false }, signal);
    await untilAllocation(job, ({ ClientStatus }) => expect(ClientStatus).toBe("complete"));

    expect(performance.now() - startedMs).toBeGreaterThan(2500);
  });

  test("a job that fits on no client has no allocation, and a blocked evaluation with the reason", async () => {
    const job = jobWith([taskWith(wait, { Resources: { CPU: 10, MemoryMB: 9_000_000 } })]);
    await client.registerJob(job, 0, signal);

    await eventually(async () => {
      const { items } = await client.blockedEvaluations(`JobID matches "^${job.ID}$"`, signal);
      expect(items[0]?.FailedTGAllocs?.["pod"]?.DimensionExhausted).toEqual({ memory: 1 });
    }, soon);
    expect(await client.jobAllocations(job.ID, signal)).toEqual([]);
  });
});

describe("namespaces", () => {
  let one: NomadClient;
  let other: NomadClient;
  beforeAll(async () => {
    [one, other] = [client.in("vk-contract-one"), client.in("vk-contract-other")];
    for (const { namespace } of [one, other]) await nomad.makeNamespace(namespace);
  });

  /** Runs two jobs with the same ID in two namespaces. @returns their allocations */
  async function runBoth(script: string): Promise<{ readonly id: string; readonly allocations: readonly Allocation[] }> {
    const job = jobWith([taskWith(script)]);
    made.delete(job.ID);
    for (const each of [one, other]) await each.registerJob(job, 0, signal);
    const allocations = await Promise.all(
      [one, other].map((each) =>
        eventually(async () => {
          const [allocation] = await each.jobAllocations(job.ID, signal);
          expect(allocation?.TaskStates?.["main"]?.StartedAt).toBeTypeOf("string");
          return allocation as Allocation;
        }, soon),
      ),
    );
    return { id: job.ID, allocations };
  }

  test("an ID is unique within a namespace: lists, reads and stops use the job and allocations of their namespace", async () => {
    const { id, allocations } = await runBoth(wait);
    expect(allocations.map(({ Namespace }) => Namespace)).toEqual([one.namespace, other.namespace]);
    const { items: all } = await client.in("*").listJobs(`Meta["vk.job"] == ${JSON.stringify(id)}`, signal);
    expect(all.map(({ Namespace }) => Namespace).toSorted()).toEqual([one.namespace, other.namespace].toSorted());
    await one.stopJob(id, { purge: true }, signal);

    await expect(one.readJob(id, signal)).rejects.toSatisfy(isNotFound);
    await expect(client.readJob(id, signal)).rejects.toSatisfy(isNotFound);
    const byMeta = `Meta["vk.job"] == ${JSON.stringify(id)}`;
    const listed = async (each: NomadClient): Promise<unknown> => [
      (await each.listJobs(byMeta, signal)).items.map(({ Namespace, Stop }) => [Namespace, Stop]),
      (await each.listAllocations(`Job.${byMeta}`, signal)).items.map(({ ID, Namespace }) => [ID, Namespace]),
    ];
    expect(await listed(one)).toEqual([[], []]);
    expect(await listed(other)).toEqual([[[other.namespace, false]], [[allocations[1]?.ID, other.namespace]]]);
    await other.stopJob(id, { purge: true }, signal);
  });

  test("a namespace's event stream contains only its own jobs, with the namespace", async () => {
    const { index } = await client.listAllocations('JobID matches "^none$"', signal);
    const events = await other.events(["Job", "Allocation"], index, signal);
    const { id } = await runBoth("exit 0");
    const heard = new Set<string | undefined>();
    for await (const frame of events) {
      for (const { Key, Namespace } of frame) if (Key === id) heard.add(Namespace);
      if (heard.size > 0 && frame.some(({ Topic }) => Topic === "Allocation")) break;
    }
    events.destroy();

    expect([...heard]).toEqual([other.namespace]);
    for (const each of [one, other]) await each.stopJob(id, { purge: true }, signal);
  });

  test("a call with an allocation's ID finds it from every namespace", async () => {
    const { id, allocations } = await runBoth("echo hello");
    await eventually(async () => expect(await readLog(allocations[0]?.ID ?? "")).toBe("hello\n"), soon);

    expect((await client.readAllocation(allocations[1]?.ID ?? "", signal)).Namespace).toBe(other.namespace);
    for (const each of [one, other]) await each.stopJob(id, { purge: true }, signal);
  });

  test("each namespace has its own variable at a path, and templates read the one in their job's namespace", async () => {
    const job = jobWith([taskWith("")]);
    made.delete(job.ID);
    const Path = `nomad/jobs/${job.ID}`;
    for (const each of [one, other]) await each.writeVariable({ Path, Items: { a: each.namespace } }, signal);
    const EmbeddedTmpl = `{{ with nomadVar "${Path}" }}{{ .a }}{{ end }}`;
    const task = taskWith("cat local/file", { Templates: [{ EmbeddedTmpl, DestPath: "local/file", ChangeMode: "noop" }] });
    for (const each of [one, other]) await each.registerJob(jobWith([task], { ID: job.ID }), 0, signal);
    made.delete(job.ID);
    for (const each of [one, other])
      await eventually(async () => {
        const [allocation] = await each.jobAllocations(job.ID, signal);
        expect(await readLog(allocation?.ID ?? "")).toBe(each.namespace);
      }, soon);

    await one.deleteVariable(Path, signal);
    expect((await other.listVariables(Path, signal)).map((variable) => variable.Path)).toEqual([Path]);
    expect(await one.listVariables(Path, signal)).toEqual([]);
    await other.deleteVariable(Path, signal);
    for (const each of [one, other]) await each.stopJob(job.ID, { purge: true }, signal);
  });

  test("a missing namespace cannot be read, has empty lists, and refuses jobs for good", async () => {
    const none = client.in("vk-contract-none");

    await expect(none.readNamespace(signal)).rejects.toSatisfy(isNotFound);
    await one.readNamespace(signal);
    await none.ping(signal);
    expect((await none.listJobs('ID matches "^vk"', signal)).items).toEqual([]);
    const job = jobWith([taskWith(wait)]);
    made.delete(job.ID);
    await expect(none.registerJob(job, 0, signal)).rejects.toSatisfy(isInvalidInput);
  });
});

describe("clients", () => {
  test("lists can be filtered, and jobs constrained, by attributes that lists do not show", async () => {
    const [node] = await client.listNodes(signal);
    const all = await Promise.all(["amd64", "arm64"].map((value) => client.listNodesWith("cpu.arch", value, signal)));
    const own = ["amd64", "arm64"][all.findIndex((ids) => ids.has(node?.ID ?? ""))] ?? "";

    expect(all.filter((ids) => ids.has(node?.ID ?? ""))).toHaveLength(1);
    const constrained = (RTarget: string): NomadJob =>
      jobWith([taskWith(wait)], { Constraints: [{ LTarget: "${attr.cpu.arch}", RTarget, Operand: "=" }] });
    await run(constrained(own), isRunning);
    const nowhere = constrained("s390x");
    await client.registerJob(nowhere, 0, signal);
    await eventually(async () => {
      const { items } = await client.blockedEvaluations(`JobID matches "^${nowhere.ID}$"`, signal);
      expect(items[0]?.FailedTGAllocs?.["pod"]?.ConstraintFiltered).toEqual({ "${attr.cpu.arch} = s390x": 1 });
    }, soon);
  });

  test("a registration with a memory maximum causes a warning exactly when memory oversubscription is off", async () => {
    const job = jobWith([taskWith(wait, { Resources: { CPU: 10, MemoryMB: 16, MemoryMaxMB: 32 } })]);
    const { warnings } = await client.registerJob(job, 0, signal);

    expect(warnings.includes("Memory oversubscription is not enabled")).toBe(!(await client.readMemoryOversubscription("default", signal)));
  });
});

describe("tasks", () => {
  test("a failed task ends its siblings, and a failed allocation is not replaced", async () => {
    const job = jobWith([taskWith("exit 7"), taskWith(wait, { Name: "other" })]);
    const { TaskStates } = await run(job, ({ ClientStatus }) => expect(ClientStatus).toBe("failed"));

    expect(TaskStates?.["main"]?.Events?.findLast(({ Type }) => Type === "Terminated")?.ExitCode).toBe(7);
    expect(TaskStates?.["other"]?.Events?.map(({ Type }) => Type)).toContain("Sibling Task Failed");
    expect(await client.jobAllocations(job.ID, signal)).toHaveLength(1);
  });

  test.each(["service", "batch"] as const)(
    "a task of a %s job that cannot be started fails for good under any policy, and the job starts again when its meta changes",
    async (Type) => {
      const RestartPolicy = { Attempts: 10, Interval: 300e9, Delay: 1e9, Mode: "delay" } as const;
      const job = jobWith([taskWith("", { Config: { command: "/vk-contract/none" }, RestartPolicy })], { Type });
      const failed = await run(job, ({ ClientStatus }) => expect(ClientStatus).toBe("failed"));
      const { spec, stub } = await client.readJobSpec(job.ID, signal);
      await client.registerJob({ ...spec, Meta: { ...job.Meta, "vk.attempt": "2" } }, stub.JobModifyIndex, signal);

      expect(failed.DesiredStatus).toBe("run");
      expect(failed.TaskStates?.["main"]?.Events?.map(({ Type: event }) => event)).toEqual(
        expect.arrayContaining(["Driver Failure", "Not Restarting"]),
      );
      await eventually(async () => {
        const allocations = (await client.jobAllocations(job.ID, signal)).toSorted((a, b) => a.CreateIndex - b.CreateIndex);
        expect(allocations.map(({ ID }) => ID === failed.ID)).toEqual([true, false]);
        expect(allocations[1]?.ClientStatus).toBe("failed");
      }, soon);
    },
  );

  test("a restart is counted when the task begins to wait for it", async () => {
    const again = { Attempts: 1, Interval: 3600e9, Delay: 600e9, Mode: "delay" } as const;
    const job = jobWith([taskWith("exit 1", { RestartPolicy: again })]);
    const { TaskStates } = await run(job, ({ TaskStates: now }) => expect(now?.["main"]).toMatchObject({ State: "pending", Restarts: 1 }));

    const types = TaskStates?.["main"]?.Events?.map(({ Type }) => Type) ?? [];
    expect(types.indexOf("Restarting")).toBeGreaterThan(types.indexOf("Terminated"));
  });

  test("a task waits for its gate until the variable is written", async () => {
    const job = jobWith([taskWith(wait)]);
    const path = `nomad/jobs/${job.ID}/pod/main`;
    const EmbeddedTmpl = `{{ with nomadVar "${path}" }}{{ .go }}{{ end }}`;
    const gated = jobWith([taskWith(wait, { Templates: [{ EmbeddedTmpl, DestPath: "local/vk-gate", ChangeMode: "noop" }] })], {
      ID: job.ID,
    });
    const { TaskStates } = await run(gated, (allocation) =>
      expect(allocation.TaskStates?.["main"]?.Events?.some(({ Type }) => Type === "Template")).toBe(true),
    );
    expect(TaskStates?.["main"]?.State).toBe("pending");
    await client.writeVariable({ Path: path, Items: { go: "1" } }, signal);
    await untilAllocation(gated, isRunning);
    await client.deleteVariable(path, signal);
  });

  test("templates and the words of a command contain values unchanged", async () => {
    const job = jobWith([taskWith("x")]);
    const path = `nomad/jobs/${job.ID}`;
    const value = 'quote " dollar $A back \\ tab \t brace {{ x }} é <&>';
    const inVariable = (inner: string): string => `{{ with nomadVar "${path}" }}${inner}{{ end }}`;
    const Templates = [
      { EmbeddedTmpl: `A=${inVariable("{{ .a.Value | toJSON }}")}\n`, DestPath: "secrets/a.env", ChangeMode: "noop", Envvars: true },
      {
        EmbeddedTmpl: inVariable("{{ if .t.Key }}{{ .t.Value }}{{ else }}{{ .b.Value | base64Decode }}{{ end }}"),
        DestPath: "local/file",
        ChangeMode: "noop",
        Perms: "0400",
      },
    ] as const;
    const script = 'printf "%s\\n" "$0" "$1" "$A"; od -An -tx1 local/file; stat -c %a local/file';
    const words = ["-c", script, '${env["A"]}', "$${HOME}"];
    const fixed = jobWith([taskWith("", { Config: { command: "sh", args: words }, Templates })], { ID: job.ID });
    await client.writeVariable({ Path: path, Items: { a: value, b: Buffer.from([0, 1, 2, 255]).toString("base64") } }, signal);
    const { ID } = await run(fixed, ({ ClientStatus }) => expect(ClientStatus).toBe("complete"));

    expect(await readLog(ID)).toBe(`${value}\n\${HOME}\n${value}\n 00 01 02 ff\n400\n`);
    await client.deleteVariable(path, signal);
  });

  test.each([
    ["service", { Attempts: 10, Interval: 300e9, Delay: 20e9, Mode: "delay" }],
    ["batch", { Attempts: 0, Interval: 60e9, Delay: 1e9, Mode: "fail" }],
  ] as const)(
    "a restart of a task of a %s job happens at once, within its kill time-out, and is counted under any policy",
    async (Type, RestartPolicy) => {
      const other = taskWith(wait, { Name: "other" });
      const job = jobWith([taskWith(deaf, { RestartPolicy, KillTimeout: 1e9 }), other], { Type });
      const before = await runDeaf(job);
      const startedMs = performance.now();
      await client.restartTask(before.ID, "main", 1000, signal);
      const tookMs = performance.now() - startedMs;
      const { TaskStates } = await untilAllocation(job, (now) => {
        expect(now.TaskStates?.["main"]).toMatchObject({ State: "running", Restarts: 1 });
        expect(now.TaskStates?.["main"]?.StartedAt).not.toBe(before.TaskStates?.["main"]?.StartedAt);
      });

      // The response comes after the process has ended.
      expect(tookMs).toBeGreaterThan(900);
      const events = TaskStates?.["main"]?.Events ?? [];
      expect(events.slice(-4).map(({ Type: event }) => event)).toEqual(["Restart Signaled", "Terminated", "Restarting", "Started"]);
      expect(events.at(-3)?.ExitCode).toBe(137);
      expect(TaskStates?.["other"]).toMatchObject({ State: "running", Restarts: 0 });
    },
  );

  test("SIGKILL completes a restart that waits for a process which ignores SIGTERM, and a restart of a missing task is refused", async () => {
    const job = jobWith([taskWith(deaf, { KillTimeout: 20e9 })]);
    const { ID } = await runDeaf(job);
    const startedMs = performance.now();
    const restarted = client.restartTask(ID, "main", 20_000, signal);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await client.signalTask(ID, "main", "SIGKILL", signal);
    await restarted;

    expect(performance.now() - startedMs).toBeLessThan(10_000);
    await untilAllocation(job, (now) => expect(now.TaskStates?.["main"]).toMatchObject({ State: "running", Restarts: 1 }));
    await expect(client.restartTask(ID, "none", 1000, signal)).rejects.toSatisfy(isUnavailable);
    await expect(client.restartTask(randomUUID(), "main", 1000, signal)).rejects.toSatisfy(isNotFound);
  });

  test("ports that Nomad chooses are in events and details of an allocation, but not in lists", async () => {
    const job = jobWith([taskWith(wait)]);
    const [group] = job.TaskGroups;
    const Networks = [{ Mode: "host", DynamicPorts: [{ Label: "probe_8080", To: 8080 }] }];
    const allocation = await run({ ...job, TaskGroups: group ? [{ ...group, Networks }] : [] }, isRunning);

    expect(allocation.AllocatedResources?.Shared?.Ports).toBeUndefined();
    const detail = await client.readAllocation(allocation.ID, signal);
    expect(detail.AllocatedResources?.Shared?.Ports).toEqual([
      { Label: "probe_8080", To: 8080, Value: expect.any(Number), HostIP: expect.any(String) },
    ]);
  });

  test("the file API reads a task's files, except those in its secrets folder", async () => {
    const template = (DestPath: string) => ({ EmbeddedTmpl: "canary", DestPath, ChangeMode: "noop", Perms: "0400" }) as const;
    const job = jobWith([taskWith(wait, { Templates: [template("secrets/volumes/keys/key"), template("etc/key")] })]);
    const { ID } = await run(job, isRunning);
    const read = async (path: string): Promise<unknown> => (await nomad.request("GET", `/client/fs/cat/${ID}?path=main/${path}`)).body;

    expect(await read("etc/key")).toBe("canary");
    expect(await read("secrets/volumes/keys/key")).toMatch(/prohibited/);
  });

  test("a running task accepts a signal, and an ended task does not", async () => {
    const job = jobWith([taskWith(deaf)]);
    const { ID } = await run(job, isRunning);
    // A signal that ends the task may also break the response.
    await client.signalTask(ID, "main", "SIGKILL", signal).catch((error: unknown) => expect(error).toSatisfy(isUnavailable));
    await untilAllocation(job, ({ ClientStatus }) => expect(ClientStatus).toBe("failed"));

    await expect(client.signalTask(ID, "main", "SIGKILL", signal)).rejects.toSatisfy(isUnavailable);
  });
});

async function readLog(allocation: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of await client.log(allocation, { task: "main", tenant: "default", type: "stdout", offset: 0 }, signal))
    chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

describe("variables", () => {
  test("a write at an old index conflicts, and the error does not show the variable", async () => {
    const path = `nomad/jobs/vk-contract-${randomUUID()}`;
    await client.writeVariable({ Path: path, Items: { a: "canary" } }, signal);
    const error: unknown = await client.writeVariable({ Path: path, Items: { a: "2" } }, signal, 1).catch((caught: unknown) => caught);

    expect(error).toSatisfy(isConflict);
    expect(String(error)).not.toContain("canary");
    await client.deleteVariable(path, signal);
    await expect(client.readVariable(path, signal)).rejects.toSatisfy(isNotFound);
    await client.deleteVariable(path, signal);
  });

  test("a list contains variables without their items, and a deletion at an old index conflicts", async () => {
    const path = `nomad/jobs/vk-contract-${randomUUID()}`;
    await client.writeVariable({ Path: `${path}/pod`, Items: { a: "canary" } }, signal);
    const { ModifyIndex } = await client.readVariable(`${path}/pod`, signal);
    const listed = await client.listVariables(path, signal);

    expect(listed).toEqual([expect.objectContaining({ Path: `${path}/pod`, ModifyIndex })]);
    expect(JSON.stringify(listed)).not.toContain("canary");
    await expect(client.deleteVariable(`${path}/pod`, signal, ModifyIndex - 1)).rejects.toSatisfy(isConflict);
    await client.deleteVariable(`${path}/pod`, signal, ModifyIndex);
    expect(await client.listVariables(path, signal)).toEqual([]);
  });

  test("a variable of more than 64 KiB is refused", async () => {
    const variable = { Path: `nomad/jobs/vk-contract-${randomUUID()}`, Items: { a: "x".repeat(65_536) } };

    await expect(client.writeVariable(variable, signal)).rejects.toSatisfy(isInvalidInput);
  });
});

describe("changes", () => {
  test("a blocking query for a future index waits for its full time, and any allocation wakes it", async () => {
    const { index } = await client.listAllocations('JobID matches "^none$"', signal);

    expect(await client.waitForAllocations(index + 100_000, 1000, signal)).toBeLessThan(index + 100_000);
    const woken = client.waitForAllocations((await client.listAllocations('JobID matches "^none$"', signal)).index, 20_000, signal);
    const job = jobWith([taskWith("true")]);
    await client.registerJob(job, 0, signal);
    expect(await woken).toBeGreaterThan(index);
  });

  test("the event stream has complete jobs and allocations from an index on, allocations without their job, and indexes never fall", async () => {
    const { index } = await client.listAllocations('JobID matches "^none$"', signal);
    const job = jobWith([taskWith("exit 3")]);
    const frames: RawFrame[] = [];
    const query = { topic: ["Allocation", "Job"], index };
    const body = await http.stream({ path: "/event/stream", query, what: "open the event stream" }, signal);
    await client.registerJob(job, 0, signal);
    for await (const each of jsonObjects(body)) {
      const frame = each as RawFrame;
      frames.push(frame);
      const isOver = frame.Events?.some(
        ({ Payload }) => Payload?.Allocation?.JobID === job.ID && Payload.Allocation.ClientStatus === "failed",
      );
      if (isOver) break;
    }
    body.destroy();

    expect(frames[0]?.Events).toBeUndefined();
    const indexes = frames.flatMap(({ Index }) => (Index === undefined ? [] : [Index]));
    expect(indexes).toEqual(indexes.toSorted((a, b) => a - b));
    const own = frames
      .flatMap(({ Events }) => Events ?? [])
      .flatMap(({ Payload }) => (Payload?.Allocation?.JobID === job.ID ? [Payload.Allocation] : []));
    expect(own.at(-1)?.TaskStates?.["main"]?.Events?.some(({ Type, ExitCode }) => Type === "Terminated" && ExitCode === 3)).toBe(true);
    expect(own.every((allocation) => !("Job" in allocation) || allocation.Job === null)).toBe(true);
    const jobs = frames.flatMap(({ Events }) => Events ?? []).filter(({ Topic, Key }) => Topic === "Job" && Key === job.ID);
    expect(jobs[0]).toMatchObject({ Type: "JobRegistered", Payload: { Job: { Meta: job.Meta } } });
  });

  test("a stopped or purged job is reported as deregistered", async () => {
    const job = jobWith([taskWith(wait)]);
    await run(job, isRunning);
    const { index } = await client.listAllocations('JobID matches "^none$"', signal);
    const events = await client.events(["Job"], index, signal);
    await client.stopJob(job.ID, { purge: true }, signal);
    for await (const frame of events) if (frame.some(({ Type, Key }) => Type === "JobDeregistered" && Key === job.ID)) break;
    events.destroy();
  });
});

describe("logs and commands", () => {
  test("a followed log arrives in frames, continues with heartbeats after the end, and can start at an offset", async () => {
    const job = jobWith([taskWith("printf 'one\\ntwo\\n'")]);
    const { ID } = await run(job, ({ ClientStatus }) => expect(ClientStatus).toBe("complete"));
    let text = "";
    let heartbeats = 0;
    for await (const frame of client.followLog(ID, { task: "main", tenant: "default", type: "stdout", offset: 4 }, signal)) {
      const { Data } = frame as { readonly Data?: string };
      if (Data) text += Buffer.from(Data, "base64").toString();
      else if (++heartbeats === 2) break;
    }

    expect(text).toBe("two\n");
    await expect(client.log(ID, { task: "zz", tenant: "default", type: "stdout", offset: 0 }, signal)).rejects.toSatisfy(
      (error) => isInvalidInput(error) || isNotFound(error),
    );
    await expect(client.log(randomUUID(), { task: "main", tenant: "default", type: "stdout", offset: 0 }, signal)).rejects.toSatisfy(
      isNotFound,
    );
  });

  /** A command with its own connection. */
  interface Exec {
    readonly socket: WebSocket;
    /** Frames received, without the data of outputs. */
    readonly frames: string[];
    /** Output so far. */
    readonly text: () => string;
    readonly exitCode: Promise<number>;
    /** Resolves with the reason when the connection is closed. */
    readonly closed: Promise<string>;
  }

  async function exec(words: readonly string[], { tty = false } = {}): Promise<Exec> {
    const { ID } = await run(jobWith([taskWith(wait)]), isRunning);
    const socket = await client.exec(ID, { task: "main", tty, command: JSON.stringify(words) }, "default");
    const frames: string[] = [];
    let text = "";
    const { promise: exitCode, resolve: onExit } = Promise.withResolvers<number>();
    socket.on("error", () => {});
    socket.on("message", (raw) => {
      const frame = (raw as Buffer).toString();
      const event = readExecFrame(frame);
      if (event.kind === "output") text += event.data.toString();
      else frames.push(frame);
      if (event.kind === "exited") onExit(event.exitCode);
    });
    const closed = new Promise<string>((resolve) => socket.once("close", (_code, reason) => resolve(String(reason))));
    await Promise.race([once(socket, "open"), closed]);
    return { socket, frames, text: () => text, exitCode, closed };
  }

  test.each([
    ["exit 7", 7, { exit_code: 7 }],
    ["exit 0", 0, {}],
  ])("the last frame of a command that does %s has its exit code", async (script, code, result) => {
    const { socket, exitCode, frames } = await exec(["sh", "-c", script]);
    socket.send(inputEndFrame);

    expect(await exitCode).toBe(code);
    const closing = [{ stderr: { close: true } }, { stdout: { close: true } }];
    expect(frames.map((frame) => JSON.parse(frame) as unknown)).toEqual([
      ...[expect.toBeOneOf(closing), expect.toBeOneOf(closing)],
      { exited: true, result },
    ]);
    socket.terminate();
  });

  test("the end of a raw_exec command with open input is reported with the next input, and not before", async () => {
    const { socket, exitCode, frames, text } = await exec(["sh", "-c", "read line; echo $line; exit 6"]);
    for (const frame of inputFrames(Buffer.from("asked\n"))) socket.send(frame);
    await eventually(() => expect(text()).toBe("asked\n"), soon);
    for (const frame of [heartbeatFrame, '{"stdin":{"data":""}}']) socket.send(frame);
    await new Promise((next) => setTimeout(next, 1000));

    expect(frames).toEqual([]);
    for (const frame of inputFrames(Buffer.from("more\n"))) socket.send(frame);
    expect(await exitCode).toBe(6);
    socket.terminate();
  });

  test("the end of a command with a terminal and open input is reported at once", async () => {
    const { socket, exitCode, text } = await exec(["sh", "-c", "echo out; echo err >&2; exit 6"], { tty: true });

    expect(await exitCode).toBe(6);
    expect(text()).toBe("out\r\nerr\r\n");
    socket.terminate();
  });

  // A real agent under load sometimes sends it all the same.
  test("the exit code of a command that leaves much of its input unread can be lost", { retry: 3 }, async () => {
    const { socket, frames, closed } = await exec(["sh", "-c", "sleep 3; exit 6"]);
    for (const frame of inputFrames(Buffer.alloc(4 * 1024 * 1024))) socket.send(frame);

    expect(await closed).toBe("");
    expect(frames.join("\n")).not.toContain("exited");
  });

  test("a command whose connection is closed continues until it writes something", async () => {
    const name = join(tmpdir(), `vk-contract-${randomUUID()}`);
    const exists = (suffix: string): void => expect(existsSync(`${name}.${suffix}`)).toBe(true);
    const { socket } = await exec(["sh", "-c", `sleep 1; touch ${name}.silent; while sleep 0.2; do echo word; done; touch ${name}.loud`]);
    socket.terminate();
    await eventually(() => exists("silent"), soon);

    await eventually(
      async () => {
        const { text, exitCode, socket: looking } = await exec(["pgrep", "-f", `${name}[.]silent`]);
        looking.send(inputEndFrame);
        const code = await exitCode;
        looking.terminate();
        expect([code, text()]).toEqual([1, ""]);
      },
      { ...soon, intervalMs: 1000 },
    );
    rmSync(`${name}.silent`);
  });

  test("a missing program is the reason with which the connection is closed", async () => {
    const { closed } = await exec(["/vk-contract/none"]);

    expect(await closed).toMatch(/failed to start command: .*\/vk-contract\/none: no such file or directory$/);
  });

  test("a command in a missing task is refused after the connection is accepted", async () => {
    const job = jobWith([taskWith(wait)]);
    const { ID } = await run(job, isRunning);
    const closed = async (allocation: string, task: string): Promise<string> => {
      const socket = await client.exec(allocation, { task, tty: false, command: '["true"]' }, "default");
      socket.on("error", () => {});
      return new Promise((resolve) => socket.on("close", (_code, reason) => resolve(String(reason))));
    };

    expect(await closed(ID, "zz")).toMatch(/not found/);
    expect(await closed(randomUUID(), "main")).toMatch(/Unknown allocation/);
  });
});
