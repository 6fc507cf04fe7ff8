import assert from "node:assert/strict";
import type { AppliedLogOption, ContainerLogOptions, ContainerLogs, PodRef } from "@virtual-kubelet/core";
import { isNotFound } from "@virtual-kubelet/errdefs";
import { check, type Check } from "../check.ts";
import { readLog, type ProviderRig } from "../provider-rig.ts";

const allLines = ["line one", "line two", "line three", "", "line five é"];

/** Lines that the containers of the checks write, and the text of their logs. */
function outputOf({ options }: ProviderRig): { readonly lines: readonly string[]; readonly text: string } {
  const lines = options.lacksPart?.["empty-lines"] === undefined ? allLines : allLines.filter((line) => line !== "");
  return { lines, text: `${lines.join("\n")}\n` };
}

/** Logs exactly as the provider returns them. */
async function raw(
  rig: ProviderRig,
  ref: PodRef,
  options: Partial<ContainerLogOptions>,
): Promise<{ readonly logs: ContainerLogs; readonly text: string }> {
  assert.ok(rig.provider.getContainerLogs);
  const logs = await rig.provider.getContainerLogs(
    ref,
    "main",
    { follow: false, previous: false, timestamps: false, ...options },
    rig.signal,
  );
  return { logs, text: await rig.within("the end of a log that is not followed", readLog({ data: logs.data })) };
}

/** A pod that has written the lines and runs on. */
async function printed(rig: ProviderRig): Promise<PodRef> {
  const { lines, text } = outputOf(rig);
  const ref = await rig.run({ containers: [{ program: { kind: "print", lines } }] });
  await rig.eventually(async () => assert.equal(await rig.logs(ref), text), {
    timeoutMs: rig.timeouts.startMs,
    describe: "the lines to be in the log",
  });
  return ref;
}

function withoutTimes(logs: ContainerLogs, all: string): string {
  return logs.timestamps === true ? all.replace(/^\S+ /gm, "") : all;
}

function applies({ applied = [] }: ContainerLogs, option: AppliedLogOption): boolean {
  return applied.includes(option);
}

/** A container's output: complete, in order, with correct timestamps. */
export const logChecks: readonly Check[] = [
  check("logs", "a container's log is complete and in order, while it runs and afterwards", async (rig) => {
    const { lines, text } = outputOf(rig);
    await printed(rig);
    const ended = await rig.create({ containers: [{ program: { kind: "print-and-exit", lines, exitCode: 1 } }] });
    await rig.untilEnded(ended);
    await rig.eventually(async () => assert.equal(await rig.logs(ended), text), { timeoutMs: rig.timeouts.endMs });
  }),
  check("logs", "a container's log includes its standard error", async (rig) => {
    const ref = await rig.run({ containers: [{ program: { kind: "print-errors", lines: ["an error"] } }] });
    await rig.eventually(async () => assert.match(await rig.logs(ref), /an error\n/, "the log lacks what was written to standard error"), {
      timeoutMs: rig.timeouts.startMs,
    });
  }),
  check(
    "logs",
    "each container of a pod has a log of its own",
    async (rig) => {
      const names = ["a", "b"];
      const ref = await rig.run({ containers: names.map((name) => ({ name, program: { kind: "print", lines: [`of ${name}`] } })) });
      for (const container of names)
        await rig.eventually(
          async () => {
            const found = await rig.logs(ref, { container });
            assert.equal(found, `of ${container}\n`, `the log of container ${container} is ${JSON.stringify(found)}`);
          },
          { timeoutMs: rig.timeouts.startMs },
        );
    },
    ({ lacksInSeveral }, has) => (has("multiple-containers") ? lacksInSeveral?.logs : "pods have one container"),
  ),
  check("logs", "each line begins with its time if the result says so", async (rig) => {
    const beforeMs = rig.clock.now();
    const ref = await printed(rig);
    const { logs, text: all } = await raw(rig, ref, { timestamps: true });
    if (logs.timestamps !== true) return;
    let last = "";
    for (const line of all.split("\n").slice(0, -1)) {
      const [, time = ""] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z) /.exec(line) ?? [];
      assert.ok(time !== "", `no time of RFC 3339 in UTC and a space before ${JSON.stringify(line)}`);
      assert.ok(Math.abs(Date.parse(time) - beforeMs) < 300_000, `${time} is minutes from when it was written`);
      assert.ok(Date.parse(time) >= (last === "" ? 0 : Date.parse(last)), "times go back");
      last = time;
    }
  }),
  check("logs", "tailLines is applied exactly if the result's applied names it", async (rig) => {
    const { lines, text } = outputOf(rig);
    const ref = await printed(rig);
    for (const tailLines of [0, 1, 2, 99]) {
      const { logs, text: all } = await raw(rig, ref, { tailLines });
      const wanted = applies(logs, "tailLines")
        ? lines
            .slice(Math.max(0, lines.length - tailLines))
            .map((line) => `${line}\n`)
            .join("")
        : text;
      assert.equal(withoutTimes(logs, all), wanted, `tailLines=${tailLines}, applied=[${String(logs.applied)}]`);
    }
  }),
  check("logs", "sinceTime is applied exactly if the result's applied names it", async (rig) => {
    const { text } = outputOf(rig);
    const ref = await printed(rig);
    for (const [hours, isEmpty] of [
      [-1, false],
      [1, true],
    ] as const) {
      const sinceTime = new Date(rig.clock.now() + hours * 3_600_000).toISOString().replace(/\.\d+Z$/, "Z");
      const { logs, text: all } = await raw(rig, ref, { sinceTime });
      assert.equal(withoutTimes(logs, all), applies(logs, "sinceTime") && isEmpty ? "" : text, `sinceTime=${sinceTime}`);
    }
  }),
  check("logs", "limitBytes is applied exactly if the result's applied names it", async (rig) => {
    const { text } = outputOf(rig);
    const ref = await printed(rig);
    const { logs, text: all } = await raw(rig, ref, { limitBytes: 10 });
    if (applies(logs, "limitBytes")) assert.equal(Buffer.byteLength(all), 10);
    else assert.equal(withoutTimes(logs, all), text);
  }),
  check("logs", "the log of a container that wrote nothing is returned at once", async (rig) => {
    const ref = await rig.run();
    await rig.logs(ref);
  }),
  check("logs", "a missing container and a missing pod are not found", async (rig) => {
    const ref = await printed(rig);
    for (const [pod, container] of [
      [ref, "no-such-container"],
      [{ ...ref, uid: "00000000-0000-4000-8000-000000000003" }, "main"],
    ] as const)
      await assert.rejects(
        (async () => {
          const logs = await rig.provider.getContainerLogs?.(
            pod,
            container,
            { follow: false, previous: false, timestamps: false },
            rig.signal,
          );
          for await (const _ of logs?.data ?? []);
        })(),
        (error) => isNotFound(error),
        `the logs of ${container} must be refused with NotFoundError`,
      );
  }),
  check("logs-follow", "a followed log has the earlier and the new lines, and ends with the container", async (rig) => {
    const program = { kind: "print-slowly", lines: ["first", "second", "third"], everySeconds: 1 } as const;
    const ref = await rig.start({ containers: [{ program }] });
    const timeoutMs = 3000 + rig.timeouts.startMs + rig.timeouts.endMs;
    assert.equal(await rig.within("a followed log", rig.logs(ref, { follow: true }), timeoutMs), "first\nsecond\nthird\n");
    await rig.untilEnded(ref);
    assert.equal(await rig.within("a followed log of an ended container", rig.logs(ref, { follow: true })), "first\nsecond\nthird\n");
  }),
  check("logs-follow", "a followed log opens at once, even if nothing is written, and ends when it is aborted", async (rig) => {
    const ref = await rig.run();
    const controller = new AbortController();
    assert.ok(rig.provider.getContainerLogs);
    const call = rig.provider.getContainerLogs(ref, "main", { follow: true, previous: false, timestamps: false }, controller.signal);
    const { data, live } = await rig.within("getContainerLogs", call);
    const reading = (async () => {
      for await (const _ of data);
      for await (const _ of live ?? []);
    })();
    const settled = reading.then(
      () => undefined,
      (error: unknown) => error,
    );
    await rig.clock.sleep(200);
    const reason = new Error("the client is gone");
    controller.abort(reason);
    const error = await rig.within("an aborted followed log", settled);
    assert.ok(error === undefined || error === reason, `an aborted log ends, or throws the signal's reason, and threw ${String(error)}`);
  }),
  check("logs-follow", "a reader that stops following a log leaves nothing open", async (rig) => {
    const ref = await printed(rig);
    assert.ok(rig.provider.getContainerLogs);
    const controller = new AbortController();
    const { data, live } = await rig.provider.getContainerLogs(
      ref,
      "main",
      { follow: true, previous: false, timestamps: false },
      controller.signal,
    );
    for await (const _ of data) break;
    await live?.[Symbol.asyncIterator]().return?.();
    controller.abort(new Error("the client is gone"));
  }),
  check("logs-previous", "the previous instance has its own log, and is not found if there was none", async (rig) => {
    const { lines } = outputOf(rig);
    const first = await rig.run({ restartPolicy: "Always", containers: [{ program: { kind: "print", lines } }] });
    await assert.rejects(rig.logs(first, { previous: true }), (error) => isNotFound(error));
    const ref = await rig.create({
      restartPolicy: "Always",
      containers: [{ program: { kind: "print-and-exit", lines: ["crashed"], exitCode: 1 } }],
    });
    await rig.untilStatus(ref, "to be started again", ({ containerStatuses }) =>
      assert.ok((containerStatuses?.[0]?.restartCount ?? 0) >= 1),
    );
    await rig.eventually(async () => assert.equal(await rig.logs(ref, { previous: true }), "crashed\n"), { timeoutMs: rig.timeouts.endMs });
  }),
];
