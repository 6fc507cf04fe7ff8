import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { eventually } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findKubectl } from "../support/kubectl.ts";
import type { KubectlRunner } from "./support/kubectl-runner.ts";
import { InteropRig, startTimeoutMs, type InteropNode } from "./support/rig.ts";

const kubectl = await findKubectl();
const soon = { timeoutMs: 60_000 };

describe(`kubectl ${kubectl.version} logs`, { concurrent: true }, () => {
  let rig: InteropRig;
  let node: InteropNode;
  let client: KubectlRunner;

  beforeAll(async () => {
    rig = await InteropRig.open("logs");
    node = await rig.startNode({ declared: true });
    client = rig.kubectl(kubectl.program);
  }, startTimeoutMs);
  afterAll(() => rig[Symbol.asyncDispose](), startTimeoutMs);

  /** A gate: a container waits for it until the test opens it. */
  function gateNamed(name: string): { readonly wait: string; open(): Promise<void> } {
    const file = join(rig.cluster.directory, `gate-${name}`);
    return { wait: `until [ -e ${file} ]; do sleep 0.1; done`, open: () => writeFile(file, "") };
  }

  test("prints a container's log, also after its end, and applies the options", async () => {
    const pod = await node.run({ command: ["printf", "one\ntwo\nthree\n"], phase: "Succeeded" });

    expect(await client.run(["logs", pod])).toEqual({ code: 0, stdout: "one\ntwo\nthree\n", stderr: "" });
    expect(await client.run(["logs", pod, "--tail=1"])).toMatchObject({ stdout: "three\n" });
    expect(await client.run(["logs", pod, "--limit-bytes=5"])).toMatchObject({ stdout: "one\nt" });
    expect(await client.run(["logs", pod, "--since=1h", "-c", "main"])).toMatchObject({ stdout: "one\ntwo\nthree\n" });
    expect((await client.run(["logs", pod, "--timestamps", "--tail=1"])).stdout).toMatch(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z three\n$/,
    );
  });

  test("-f prints new lines and ends with the container", async () => {
    const gate = gateNamed("last");
    const pod = await node.run({
      command: ["sh", "-c", `for i in 1 2 3 4 5; do echo $i; sleep 0.3; done; ${gate.wait}; echo last >&2; exit 1`],
    });
    const { output, ended } = client.start("logs", "-f", pod);
    await eventually(() => expect(output.stdout).toBe("1\n2\n3\n4\n5\n"), soon);

    await gate.open();

    expect(await ended).toEqual({ code: 0, stdout: "1\n2\n3\n4\n5\nlast\n", stderr: "" });
  });

  test("-f ends when its pod is deleted", async () => {
    const pod = await node.run({ command: ["sh", "-c", "echo begun; exec sleep 3600"] });
    const { output, ended } = client.start("logs", "-f", pod);
    await eventually(() => expect(output.stdout).toBe("begun\n"), soon);

    expect(await client.run(["delete", "pod", pod])).toMatchObject({ code: 0 });

    expect(await ended).toEqual({ code: 0, stdout: "begun\n", stderr: "" });
  });

  test("-f ends with the container's instance that it followed; the next instance has its own log", async () => {
    // A file in the pod's folder outlives the instances of its containers.
    const gate = gateNamed("over");
    const script = `if [ -e again ]; then echo second; exec sleep 3600; fi; touch again; echo first; ${gate.wait}; echo over; exit 1`;
    const pod = await node.run({ command: ["sh", "-c", script], spec: { restartPolicy: "Always" } });
    const first = client.start("logs", "-f", pod);
    await eventually(() => expect(first.output.stdout).toBe("first\n"), soon);

    await gate.open();

    expect(await first.ended).toEqual({ code: 0, stdout: "first\nover\n", stderr: "" });

    await eventually(async () => expect((await client.run(["logs", pod])).stdout).toBe("second\n"), soon);
    expect(await client.run(["logs", "--previous", pod])).toEqual({ code: 0, stdout: "first\nover\n", stderr: "" });
    const next = client.start("logs", "-f", pod);
    await eventually(() => expect(next.output.stdout).toBe("second\n"), soon);
    next.child.kill("SIGINT");
    await next.ended;
  });

  // The metric counts the requests of all tests, so this test runs alone.
  test("an interrupted -f leaves nothing open at the node", { concurrent: false }, async () => {
    const pod = await node.run({ command: ["sh", "-c", "while :; do echo still here; sleep 0.2; done"] });
    const { child, output, ended } = client.start("logs", "-f", pod);
    await eventually(() => expect(output.stdout).toMatch(/^(?:still here\n){3}/), soon);
    const open = (): Promise<number> => node.metric("kubelet_http_inflight_requests", /path="containerLogs"/);
    expect(await open()).toBeGreaterThan(0);

    child.kill("SIGINT");

    expect((await ended).code).not.toBe(0);
    await eventually(async () => expect(await open()).toBe(0), soon);
  });

  test("that do not exist are refused with a kubelet's messages", async () => {
    const [plain, waiting] = await Promise.all([
      node.run({ command: ["sleep", "3600"] }),
      node.run({
        command: ["true"],
        phase: "Pending",
        spec: { initContainers: [{ name: "first", image: "none", command: ["sleep", "3600"] }] },
      }),
    ]);

    expect(await client.run(["logs", plain, "--previous"])).toEqual({
      code: 1,
      stdout: "",
      stderr: `Error from server (BadRequest): previous terminated container "main" in pod "${plain}" not found\n`,
    });
    expect((await client.run(["logs", waiting, "-c", "main"])).stderr).toBe(
      `Error from server (BadRequest): container "main" in pod "${waiting}" is waiting to start: PodInitializing\n`,
    );
    expect(await client.run(["logs", plain, "-c", "none"])).toMatchObject({ code: 1, stderr: expect.stringMatching(/none.*not valid/) });
  });
});
