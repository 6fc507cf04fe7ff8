import { createCertificateAuthority, openCertificateAuthority } from "@virtual-kubelet/pki";
import { resources, type KubeClient } from "@virtual-kubelet/kube-client";
import { eventually, freePort, startControlPlane, type ControlPlaneAccess, type KubeconfigFile } from "@virtual-kubelet/testing";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { complaintsOf, findingsOf, runDoctor, type Diagnosis } from "../support/doctor.ts";
import { Program } from "../support/program.ts";
import { createNamespace, openClient, sharedControlPlane, type OpenClient } from "./support/cluster.ts";
import { applyPrintedRights } from "./support/printed-rights.ts";
import { uniqueName } from "./support/test-node.ts";
import { podOn } from "./support/workload.ts";

const { signal } = new AbortController();
const controlPlane = sharedControlPlane();
let opened: OpenClient;
let client: KubeClient;
let namespace = "";

beforeAll(async () => {
  opened = await openClient(controlPlane.kubeconfig);
  ({ client } = opened);
  namespace = await createNamespace(client, "doctor");
});

afterAll(async () => {
  await opened[Symbol.asyncDispose]();
});

/** A program with one node, and doctor beside it. */
interface Patient extends AsyncDisposable {
  readonly name: string;
  /** Runs doctor with the program's flags; later ones override them. */
  diagnose(...words: readonly string[]): Promise<Diagnosis>;
}

interface PatientOptions {
  readonly cluster?: ControlPlaneAccess;
  readonly name: string;
  readonly kubeconfig: KubeconfigFile;
  readonly words?: readonly string[];
}

async function startPatient({ cluster = controlPlane, name, kubeconfig, words = [] }: PatientOptions): Promise<Patient> {
  const port = String(await freePort());
  const settings = ["--provider", "mock", "--nodename", name, "--identity", name, "--kubeconfig", kubeconfig.path, ...words];
  const flags = [...settings, "--health-addr", "off", "--kubelet-address", "127.0.0.1", "--kubelet-port", port];
  const program = new Program(flags, { cwd: cluster.directory });
  for (const condition of ["create", "condition=Ready"])
    expect(await cluster.kubectl(["wait", `node/${name}`, `--for=${condition}`, "--timeout=90s"])).toMatchObject({ code: 0 });
  return {
    name,
    diagnose: (...more) => runDoctor([...flags, "--admin-kubeconfig", cluster.kubeconfig.path, ...more], cluster.directory),
    async [Symbol.asyncDispose]() {
      await program[Symbol.asyncDispose]();
      await cluster.kubectl(["delete", "node", name, "--ignore-not-found", "--wait=false"]);
    },
  };
}

/** Creates a pod that names a secret and a config map, and waits until it runs. */
async function runPod(nodeName: string): Promise<AsyncDisposable> {
  const name = `pod-${nodeName}`;
  await client.create(resources.secrets, { metadata: { namespace, name }, stringData: { key: "value" } }, { signal });
  await client.create(resources.configMaps, { metadata: { namespace, name }, data: { key: "value" } }, { signal });
  const pod = podOn(nodeName, name, namespace);
  const env = [
    { name: "A", valueFrom: { secretKeyRef: { name, key: "key" } } },
    { name: "B", valueFrom: { configMapKeyRef: { name, key: "key" } } },
  ];
  const containers = pod.spec?.containers.map((container) => ({ ...container, env })) ?? [];
  await client.create(resources.pods, { ...pod, spec: { ...pod.spec, containers } }, { signal });
  await eventually(async () => expect((await client.get(resources.pods, { namespace, name }, { signal })).status?.phase).toBe("Running"), {
    timeoutMs: 90_000,
  });
  return {
    [Symbol.asyncDispose]: async () =>
      void (await controlPlane.kubectl(["delete", "pod", "-n", namespace, name, "--force", "--grace-period=0", "--ignore-not-found"])),
  };
}

async function tokenOf(account: string): Promise<string> {
  const { stdout } = await controlPlane.kubectl(["create", "token", account, "-n", "kube-system"]);
  return stdout.trim();
}

/** Rights of a node, revoked when disposed, and a kubeconfig of the user that has them. */
async function grantedRights(
  name: string,
  runAs: "node" | "service-account",
): Promise<AsyncDisposable & { readonly kubeconfig: KubeconfigFile }> {
  const words = ["--provider", "mock", "--nodename", name, "--kubelet-port", "1", `--run-as=${runAs}`];
  const { account, undo } = await applyPrintedRights(controlPlane, words);
  const kubeconfig =
    runAs === "node"
      ? controlPlane.kubeconfigFor(`system:node:${name}`, ["system:nodes"])
      : controlPlane.kubeconfigWith({ token: await tokenOf(account) });
  return { kubeconfig, [Symbol.asyncDispose]: async () => void (await undo()) };
}

/** A fresh node's certificate request waits, and its address is of this machine only. */
const usual = ["warn node.addresses", "warn certificate.request"];

describe.each(["node", "service-account"] as const)("beside a program that runs as a %s with the printed rights, doctor", (runAs) => {
  test("finds nothing that fails, and the command that it names approves the certificate", async () => {
    const name = uniqueName("doctor");
    await using rights = await grantedRights(name, runAs);
    await using patient = await startPatient({ name, kubeconfig: rights.kubeconfig });
    await using _pod = await runPod(name);

    const diagnosis = await eventually(
      async () => {
        const now = await patient.diagnose();
        expect(complaintsOf(now)).toEqual(usual);
        return now;
      },
      { timeoutMs: 60_000 },
    );

    expect(diagnosis.code).toBe(0);
    for (const check of ["permissions.secrets", "permissions.configmaps", "permissions.pods", "permissions.leases", "kubelet.reach"])
      expect(findingsOf(diagnosis, check)).toMatchObject([{ status: "pass" }]);
    const [command = ""] = findingsOf(diagnosis, "certificate.request")[0]?.repair ?? [];
    expect(command).toMatch(/^kubectl certificate approve node-csr-/);
    expect(await controlPlane.kubectl(command.split(" ").slice(1))).toMatchObject({ code: 0 });
    await eventually(async () => expect(complaintsOf(await patient.diagnose())).toEqual(["warn node.addresses"]), { timeoutMs: 60_000 });
  });
});

describe("doctor finds", () => {
  test("missing rights, and the command that it names grants them", async () => {
    const name = uniqueName("rightless");
    const account = `virtual-kubelet-${name}`;
    await controlPlane.kubectl(["create", "serviceaccount", account, "-n", "kube-system"]);
    const kubeconfig = controlPlane.kubeconfigWith({ token: await tokenOf(account) });
    const words = ["--provider", "mock", "--nodename", name, "--kubelet-port", String(await freePort()), "--health-addr", "off"];
    const diagnose = (): Promise<Diagnosis> => runDoctor([...words, "--kubeconfig", kubeconfig.path], controlPlane.directory);

    const before = await diagnose();

    expect(before.code).toBe(1);
    const denied = before.findings.filter(({ check, status }) => check.startsWith("permissions.") && status === "fail");
    expect(denied.map(({ check }) => check)).toEqual(
      expect.arrayContaining(["permissions.nodes", "permissions.secrets", "permissions.leases"]),
    );
    const [command = ""] = denied[0]?.repair ?? [];
    expect(new Set(denied.map(({ repair }) => repair[0]))).toEqual(new Set([command]));
    const [, printing = ""] = /^virtual-kubelet (manifests rbac .*) \| kubectl apply -f -$/.exec(command) ?? [];
    await using manifests = new Program(printing.split(" "), { cwd: controlPlane.directory });
    expect(await manifests.exit).toBe(0);
    expect(await controlPlane.kubectl(["apply", "-f", "-"], { stdin: manifests.stdout })).toMatchObject({ code: 0 });
    await eventually(async () => expect(complaintsOf(await diagnose())).toEqual([]), { timeoutMs: 60_000 });
    await controlPlane.kubectl(["delete", "-f", "-"], { stdin: manifests.stdout });
  });

  test("credentials of another node", async () => {
    const kubeconfig = controlPlane.kubeconfigFor("system:node:elsewhere", ["system:nodes"]);

    const diagnosis = await runDoctor(
      ["--provider", "mock", "--nodename", uniqueName("not-mine"), "--kubeconfig", kubeconfig.path, "--health-addr", "off"],
      controlPlane.directory,
    );

    expect(complaintsOf(diagnosis)).toEqual(["fail cluster.identity"]);
  });

  test("a client certificate of the cluster that has expired", async () => {
    const pki = (file: string): Promise<string> => readFile(join(controlPlane.directory, "pki", file), "utf8");
    const authority = openCertificateAuthority({ certificate: await pki("ca.crt"), key: await pki("ca.key") });
    const validity = { notBeforeMs: Date.now() - 7_200_000, notAfterMs: Date.now() - 3_600_000 };
    const kubeconfig = controlPlane.kubeconfigWith(
      authority.issue({ commonName: "late", organizations: ["system:masters"], usages: ["client auth"], validity }),
    );

    const diagnosis = await runDoctor(
      ["--provider", "mock", "--kubeconfig", kubeconfig.path, "--health-addr", "off"],
      controlPlane.directory,
    );

    expect(complaintsOf(diagnosis)).toEqual(["fail cluster.credentials", "fail cluster.identity"]);
  });

  test("a certificate request that was denied", async () => {
    const name = uniqueName("denied");
    await using patient = await startPatient({ name, kubeconfig: controlPlane.kubeconfig });
    const request = await eventually(
      async () => {
        const [finding] = findingsOf(await patient.diagnose(), "certificate.request");
        const found = /request (node-csr-\S+) waits for approval/.exec(finding?.message ?? "")?.[1];
        expect(found).toBeDefined();
        return found ?? "";
      },
      { timeoutMs: 60_000 },
    );

    expect(await controlPlane.kubectl(["certificate", "deny", request])).toMatchObject({ code: 0 });

    const [finding] = findingsOf(await patient.diagnose(), "certificate.request");
    expect(finding).toMatchObject({ status: "fail", message: expect.stringContaining(`request ${request} was denied`) });
    expect(finding?.repair).toContainEqual(expect.stringMatching(`^kubectl delete csr ${request}`));
  });

  test("a node that another instance runs", async () => {
    const name = uniqueName("held");
    await using patient = await startPatient({ name, kubeconfig: controlPlane.kubeconfig });

    const diagnosis = await patient.diagnose("--identity", "somebody-else", "--cert-dir", "elsewhere");

    expect(findingsOf(diagnosis, "node.lease")).toMatchObject([
      {
        status: "fail",
        message: expect.stringContaining("a run would end with exit code 78"),
        repair: expect.arrayContaining([expect.stringContaining(`--identity ${name}`)]),
      },
    ]);
  });

  test("a node without a certificate of the cluster, then one that does not know the API server's authority", async () => {
    const directory = await mkdtemp(join(tmpdir(), "cp-"));
    await using _folder = { [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }) };
    const stranger = createCertificateAuthority("stranger").issue({ commonName: "stranger", usages: ["client auth"] });
    await writeFile(join(directory, "stranger.crt"), stranger.certificate);
    await writeFile(join(directory, "stranger.key"), stranger.key, { mode: 0o600 });
    await using cluster = await startControlPlane({
      dataDir: join(directory, "cluster"),
      components: ["kube-controller-manager"],
      flags: {
        "kube-apiserver": {
          "kubelet-certificate-authority": join(directory, "cluster/pki/ca.crt"),
          "kubelet-client-certificate": join(directory, "stranger.crt"),
          "kubelet-client-key": join(directory, "stranger.key"),
        },
      },
    });
    const name = "checked";
    await using patient = await startPatient({ cluster, name, kubeconfig: cluster.kubeconfig });
    const pod = JSON.stringify({ apiVersion: "v1", kind: "Pod", ...podOn(name, "web", "default") });
    expect(await cluster.kubectl(["apply", "-f", "-"], { stdin: pod })).toMatchObject({ code: 0 });
    expect(await cluster.kubectl(["wait", "pod", "web", "--for=condition=Ready", "--timeout=90s"])).toMatchObject({ code: 0 });

    const untrusted = await eventually(
      async () => {
        const now = await patient.diagnose();
        expect(complaintsOf(now)).toEqual([...usual, "fail kubelet.reach"]);
        return now;
      },
      { timeoutMs: 60_000 },
    );

    expect(findingsOf(untrusted, "kubelet.reach")[0]?.message).toContain("x509: certificate signed by unknown authority");
    const [command = ""] = findingsOf(untrusted, "certificate.request")[0]?.repair ?? [];
    expect(await cluster.kubectl(command.split(" ").slice(1))).toMatchObject({ code: 0 });
    await eventually(
      async () => {
        const unknown = await patient.diagnose();
        expect(complaintsOf(unknown)).toEqual(["warn node.addresses", "fail kubelet.reach"]);
        expect(findingsOf(unknown, "kubelet.reach")[0]?.message).toContain(
          "does not know the authority of the API server's client certificate",
        );
      },
      { timeoutMs: 60_000 },
    );
  });
});
