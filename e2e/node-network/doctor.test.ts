import { eventually, openControlPlane } from "@virtual-kubelet/testing";
import { afterAll, expect, inject, test } from "vitest";
import { freePort } from "../../packages/testing/src/processes/free-port.ts";
import { complaintsOf, findingsOf, runDoctor, type Diagnosis } from "../support/doctor.ts";
import { Program } from "../support/program.ts";

const controlPlane = openControlPlane(inject("controlPlane"));
const nodeAddress = inject("nodeAddress");
const started = new AsyncDisposableStack();

afterAll(() => started.disposeAsync());

/** Starts a program with one node, and returns how to run doctor beside it. */
async function startNode(name: string, ...words: readonly string[]): Promise<() => Promise<Diagnosis>> {
  const settings = ["--kubeconfig", controlPlane.kubeconfig.path, "--provider", "mock", "--nodename", name, "--health-addr", "off"];
  const flags = [...settings, "--identity", "test", "--kubelet-port", String(await freePort()), ...words];
  started.use(new Program(flags, { cwd: controlPlane.directory }));
  for (const condition of ["create", "condition=Ready"])
    expect(await controlPlane.kubectl(["wait", `node/${name}`, `--for=${condition}`, "--timeout=100s"])).toMatchObject({ code: 0 });
  return () => runDoctor(flags, controlPlane.directory);
}

test("the API server reaches a node through its proxy, and after the certificate's approval doctor has no complaint", async () => {
  const diagnose = await startNode("reached", "--node-ip", nodeAddress);

  const request = await eventually(
    async () => {
      const diagnosis = await diagnose();
      expect(complaintsOf(diagnosis)).toEqual(["warn certificate.request"]);
      expect(findingsOf(diagnosis, "kubelet.reach")).toMatchObject([{ status: "pass" }]);
      return findingsOf(diagnosis, "certificate.request")[0];
    },
    { timeoutMs: 60_000 },
  );
  const [command = ""] = request?.repair ?? [];
  expect(await controlPlane.kubectl(command.split(" ").slice(1))).toMatchObject({ code: 0 });

  await eventually(async () => expect(complaintsOf(await diagnose())).toEqual([]), { timeoutMs: 60_000 });
});

test.for([
  ["listens on loopback only", "refused", ["--kubelet-address", "127.0.0.1", "--node-ip", nodeAddress], /connection refused/, /^ss -ltnp/],
  [
    "has an address without a route",
    "lost",
    ["--node-ip", "198.51.100.7"],
    /network is unreachable|no route to host|i\/o timeout/,
    /--node-ip/,
  ],
] as const)("doctor says why the API server does not reach a node that %s", async ([, name, words, says, repair]) => {
  const diagnose = await startNode(name, ...words);

  const finding = await eventually(
    async () => {
      const diagnosis = await diagnose();
      expect(complaintsOf(diagnosis)).toEqual(["warn certificate.request", "fail kubelet.reach"]);
      return findingsOf(diagnosis, "kubelet.reach")[0];
    },
    { timeoutMs: 90_000 },
  );

  expect(finding?.message).toMatch(says);
  expect(finding?.repair).toContainEqual(expect.stringMatching(repair));
});
