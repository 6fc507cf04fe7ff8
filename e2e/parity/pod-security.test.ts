import { eventually } from "@virtual-kubelet/testing";
import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import type { Answer, Api } from "./support/api.ts";
import { podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";
import { refusal } from "./support/refusals.ts";

const prefix = "pod-security.kubernetes.io";
const safe = {
  allowPrivilegeEscalation: false,
  runAsNonRoot: true,
  capabilities: { drop: ["ALL"] },
  seccompProfile: { type: "RuntimeDefault" },
};
const withContext = (securityContext: object, name: string = "c"): object => ({ name, image: "i", securityContext });
const containers = (...list: object[]): object => podNamed("a", { containers: list });
const spec = (fields: object): object => podNamed("a", { containers: [withContext(safe)], ...fields });

/** Pods that violate something. */
const pods: Readonly<Record<string, object>> = {
  plain: containers({ name: "c", image: "i" }, { name: "d", image: "i" }),
  safe: containers(withContext(safe)),
  privileged: containers(
    withContext({ privileged: true }),
    withContext({ ...safe, allowPrivilegeEscalation: true, privileged: true }, "d"),
  ),
  "host namespaces": spec({ hostNetwork: true, hostPID: true, hostIPC: true }),
  volumes: spec({
    volumes: [
      { name: "h", hostPath: { path: "/" } },
      { name: "n", nfs: { server: "s", path: "/" } },
      { name: "e", emptyDir: {} },
    ],
  }),
  "host ports": containers({
    ...withContext(safe),
    ports: [
      { containerPort: 1, hostPort: 81 },
      { containerPort: 2, hostPort: 80 },
    ],
  }),
  probes: containers({
    ...withContext(safe),
    livenessProbe: { httpGet: { port: 1, host: "b" } },
    lifecycle: { preStop: { tcpSocket: { port: 1, host: "a" } } },
  }),
  capabilities: containers(withContext({ ...safe, capabilities: { add: ["NET_ADMIN", "CHOWN"], drop: ["ALL"] } })),
  "proc mount": spec({ hostUsers: true, containers: [withContext({ ...safe, procMount: "Unmasked" })] }),
  SELinux: spec({
    securityContext: { seLinuxOptions: { type: "a", user: "u" } },
    containers: [withContext({ ...safe, seLinuxOptions: { type: "b", role: "r" } })],
  }),
  seccomp: spec({ securityContext: { seccompProfile: { type: "Unconfined" } } }),
  AppArmor: spec({ securityContext: { appArmorProfile: { type: "Unconfined" } } }),
  sysctls: spec({
    securityContext: {
      sysctls: [
        { name: "kernel.msgmax", value: "1" },
        { name: "net.ipv4.tcp_rmem", value: "1" },
      ],
    },
  }),
  root: spec({ securityContext: { runAsUser: 0, runAsNonRoot: false } }),
  "root container": containers(withContext({ ...safe, runAsUser: 0, runAsNonRoot: false })),
  "user namespace": spec({ hostUsers: false, containers: [withContext({ ...safe, runAsUser: 0, runAsNonRoot: undefined })] }),
};

async function newNamespace(api: Api, labels: object): Promise<string> {
  const name = `parity-${randomBytes(4).toString("hex")}`;
  await api.create("/api/v1/namespaces", { metadata: { name, labels } });
  return name;
}

function withSecurity(labels: Readonly<Record<string, string>>): object {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [`${prefix}/${name}`, value]));
}

/** Refusals without the pod's service account, which a new namespace may not have yet. */
async function answersOf(api: Api, namespace: string): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  await api.post(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: "default" } });
  for (const [name, pod] of Object.entries(pods)) {
    const answer = await api.post(`/api/v1/namespaces/${namespace}/pods?dryRun=All`, pod);
    const details = refusal(answer);
    answers[name] = typeof details === "string" ? { answer: details, warning: answer.headers["warning"] } : details;
  }
  return answers;
}

test("baseline and restricted refuse pods, each in its version", async ({ api }) => {
  for (const labels of [
    { enforce: "baseline" },
    { enforce: "restricted" },
    { enforce: "restricted", "enforce-version": "v1.20" },
    { warn: "restricted" },
  ]) {
    const namespace = await newNamespace(api, withSecurity(labels));
    expect(await answersOf(api, namespace)).toMatchSnapshot(JSON.stringify(labels));
    await api.delete(`/api/v1/namespaces/${namespace}`);
  }
});

test("templates are warned about, and a stricter level warns about pods that are there", async ({ api, namespace }) => {
  const path = `/api/v1/namespaces/${namespace}`;
  for (const name of ["a", "b", "c"]) await api.create(`${path}/pods`, podNamed(name, name === "c" ? { hostNetwork: true } : {}));
  const stricter = { metadata: { labels: withSecurity({ enforce: "restricted" }) } };
  // The real server looks into a cache of pods, which may be late.
  await eventually(async () =>
    expect((await api.patch("merge", `${path}?dryRun=All`, stricter)).headers["warning"]).toMatch(/and 1 other pod[^]*299 - "c: /),
  );
  const answer = await api.patch("merge", path, stricter);
  const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }], restartPolicy: "Never" } };
  const deployment = {
    metadata: { name: "d" },
    spec: { selector: { matchLabels: { a: "b" } }, template: { ...template, spec: { containers: template.spec.containers } } },
  };
  const deploy = (): Promise<Answer> => api.post(`/apis/apps/v1/namespaces/${namespace}/deployments?dryRun=All`, deployment);
  // It also looks into a cache of namespaces.
  await eventually(async () => expect((await deploy()).headers["warning"]).toBeDefined());
  const deployed = await deploy();
  const cronJob = { metadata: { name: "c" }, spec: { schedule: "0 0 * * *", jobTemplate: { spec: { template } } } };
  const scheduled = await api.post(`/apis/batch/v1/namespaces/${namespace}/cronjobs?dryRun=All`, cronJob);
  const image = await api.patch("merge", `${path}/pods/a?dryRun=All`, { metadata: { labels: { x: "y" } } });
  const changed = await api.patch("strategic", `${path}/pods/a?dryRun=All`, { spec: { containers: [{ name: "main", image: "main:2" }] } });
  const text = (value: unknown): unknown => String(value).replaceAll(namespace, "NAMESPACE");
  expect({
    namespace: text(answer.headers["warning"]),
    deployment: [deployed.status, text(deployed.headers["warning"])],
    cronJob: [scheduled.status, text(scheduled.headers["warning"])],
    label: image.status,
    image: refusal(changed),
  }).toMatchSnapshot();
});

test("invalid labels of a namespace are refused", async ({ api }) => {
  const labels = withSecurity({
    enforce: "strict",
    "enforce-version": "1.2",
    audit: "x",
    "audit-version": "v2.0",
    warn: "y",
    "warn-version": "v1.01",
  });
  expect(refusal(await api.post("/api/v1/namespaces", { metadata: { name: "a", labels } }))).toMatchSnapshot();
});
