import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources } from "@virtual-kubelet/kube-client";
import { eventually, freePort } from "@virtual-kubelet/testing";
import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findingsOf, runDoctor } from "../support/doctor.ts";
import { findKubectl } from "../support/kubectl.ts";
import { Program } from "../support/program.ts";

const { signal } = new AbortController();
const soon = { timeoutMs: 150_000 };
const run = promisify(execFile);
const repository = fileURLToPath(new URL("../../", import.meta.url));
const vk = { apiVersion: "v1", kind: "Namespace", metadata: { name: "vk" } };
let far: ApiServer;
let home: ApiServer;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "vk-far-rights-"));
  far = await startApiServer({ contextName: "far", objects: [vk] });
  home = await startApiServer();
  await far.writeKubeconfig(join(folder, "admins"));
  await home.writeKubeconfig(join(folder, "home"));
  await mkdir(join(folder, "bin"));
  await symlink((await findKubectl()).program, join(folder, "bin/kubectl"));
  const main = join(repository, "packages/cli/src/main.ts");
  const program = `#!/bin/sh\nexec '${process.execPath}' --conditions=@virtual-kubelet/source --disable-warning=ExperimentalWarning '${main}' "$@"\n`;
  await writeFile(join(folder, "bin/virtual-kubelet"), program);
  await chmod(join(folder, "bin/virtual-kubelet"), 0o755);
});

afterAll(async () => {
  await far.close();
  await home.close();
  await rm(folder, { recursive: true });
});

/** Commands and files of the README's section about rights, in order. */
async function blocksOf(language: string): Promise<readonly string[]> {
  const readme = await readFile(join(repository, "providers/kubernetes/README.md"), "utf8");
  const [section = ""] = readme.split("## Rights in the far cluster\n")[1]?.split(/^## /m) ?? [];
  return [...section.matchAll(/```(\w+)\n([^`]*)```/g)].flatMap(([, found, text]) =>
    found === language && text !== undefined ? [text] : [],
  );
}

function shell(commands: string): Promise<{ readonly stdout: string }> {
  const path = [join(folder, "bin"), process.env["PATH"]].join(delimiter);
  return run("sh", ["-e", "-c", commands], { cwd: folder, env: { PATH: path, HOME: folder, KUBECONFIG: join(folder, "admins") } });
}

function diagnose(): ReturnType<typeof runDoctor> {
  const node = ["--nodename", "far-1", "--provider", "kubernetes", "--provider-config", "with-connection.yaml"];
  return runDoctor(["--kubeconfig", "home", "--health-addr", "off", ...node], folder);
}

test("the README's commands give a virtual node its rights and a kubeconfig, without the administrator's credentials", async () => {
  const [config = ""] = await blocksOf("yaml");
  const commands = await blocksOf("sh");
  expect(commands).toHaveLength(2);
  await writeFile(join(folder, "far.yaml"), config);
  await writeFile(join(folder, "with-connection.yaml"), `${config}cluster: { kubeconfig: far.kubeconfig }\n`);

  for (const command of commands) await shell(command);

  const kubeconfig = await readFile(join(folder, "far.kubeconfig"), "utf8");
  expect(kubeconfig).not.toContain(far.token);
  expect((await stat(join(folder, "far.kubeconfig"))).mode & 0o077).toBe(0);
  const canI = async (words: string): Promise<string> => {
    const { stdout } = await shell(`kubectl --kubeconfig far.kubeconfig auth can-i ${words} || true`);
    return stdout.trim();
  };
  expect([await canI("create pods"), await canI("create pods -n default"), await canI("list nodes")]).toEqual(["yes", "no", "no"]);
});

test("doctor says that the rights suffice, that the capacity is not known, and names a right that is taken away", async () => {
  const noQuota = await diagnose();
  expect(findingsOf(noQuota, "provider.ping")).toMatchObject([
    {
      status: "fail",
      message: expect.stringMatching(/capacity for cpu, memory, pods is not known: the quotas of namespace vk do not limit it/),
    },
  ]);

  const client = createKubeClient(far.transport());
  const hard = { "requests.cpu": "4", "requests.memory": "8Gi", pods: "20" };
  await client.raw(
    "POST",
    "/api/v1/namespaces/vk/resourcequotas",
    { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "q" }, spec: { hard } },
    { signal },
  );
  const enough = await diagnose();
  expect(findingsOf(enough, "provider.ping")).toMatchObject([{ status: "pass" }]);
  expect(findingsOf(enough, "provider.description")).toMatchObject([{ status: "pass" }]);

  await shell(
    `kubectl --context far -n vk get role virtual-kubelet:far:virtual-kubelet-far-1 -o json | sed 's/"pods.exec",*//' | kubectl --context far replace -f -`,
  );
  expect(findingsOf(await diagnose(), "provider.ping")).toMatchObject([
    {
      status: "fail",
      message: expect.stringMatching(
        /does not allow: create, get pods\/exec in namespace vk, which runs commands, attaches and forwards ports\. Apply there/,
      ),
    },
  ]);
});

test("kubectl logs says once, as Forbidden, which right the virtual node lacks in the far cluster", async () => {
  await shell(
    `kubectl --context far -n vk get role virtual-kubelet:far:virtual-kubelet-far-1 -o json | sed 's/"pods.log"/"pods\\/other"/' | kubectl --context far replace -f -`,
  );
  const node = "--nodename far-1 --provider kubernetes --provider-config with-connection.yaml --kubelet-address 127.0.0.1";
  const words = `--kubeconfig home --health-addr off ${node}`.split(" ");
  await using _program = new Program(words, { cwd: folder, env: { KUBELET_PORT: String(await freePort()) } });
  const atHome = createKubeClient(home.transport());
  const requests = { cpu: "100m", memory: "64Mi" };
  const spec = { nodeName: "far-1", containers: [{ name: "main", image: "nginx", resources: { requests } }] };
  await atHome.create(resources.pods, { metadata: { namespace: "default", name: "web" }, spec }, { signal });
  const client = createKubeClient(far.transport());
  const farName = await eventually(async () => {
    const [pod] = (await client.list(resources.pods, { namespace: "vk" }, { signal })).items;
    return pod?.metadata?.name ?? expect.fail("there is no far pod yet");
  }, soon);
  const main = { name: "main", image: "nginx", imageID: "x", ready: true, restartCount: 0, state: { running: {} } };
  const body = { status: { phase: "Running", containerStatuses: [main] } };
  await client.patch(resources.pods, { namespace: "vk", name: farName }, { type: "merge", body }, { signal, subresource: "status" });
  await eventually(async () => {
    const { status } = await atHome.get(resources.pods, { namespace: "default", name: "web" }, { signal });
    expect(status?.phase).toBe("Running");
  }, soon);

  const { stderr } = await run(join(folder, "bin/kubectl"), ["--kubeconfig", join(folder, "home"), "logs", "web"]).catch(
    (error: unknown) => error as { readonly stderr: string },
  );

  const user = "system:serviceaccount:vk:virtual-kubelet-far-1";
  const said = `pods "${farName}" is forbidden: User "${user}" cannot get resource "pods/log" in API group "" in the namespace "vk"`;
  expect(stderr.trim()).toBe(
    `Error from server (Forbidden): the far cluster does not allow the virtual node to get pods/log in namespace vk: ${said}; virtual-kubelet manifests far prints the rights that it needs ( pods/log web)`,
  );
});
