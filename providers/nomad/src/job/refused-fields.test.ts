import type { Pod } from "@virtual-kubelet/core";
import { codeOf } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { containerWith, planOf, podWith } from "../test-support/pods.ts";

type Spec = Partial<NonNullable<Pod["spec"]>>;

const two = [containerWith(), containerWith({ name: "other" })];
const exec = { command: ["check"] };
const alone = { network: "none" };
const rawExec = { driver: "raw_exec" };

test.each<[string, Spec, object]>([
  ["spec.containers[1]", { containers: two }, { network: "task" }],
  ["spec.initContainers[1]", { initContainers: two.map(({ name, ...rest }) => ({ ...rest, name: `i-${name}` })) }, { secrets: "inline" }],
  ["spec.activeDeadlineSeconds", { activeDeadlineSeconds: 5 }, {}],
  ["spec.imagePullSecrets", { imagePullSecrets: [{ name: "registry" }] }, {}],
  [
    "spec.containers[0].lifecycle.preStop.httpGet",
    { containers: [containerWith({ lifecycle: { preStop: { httpGet: { port: 80 } } } })] },
    {},
  ],
  ["spec.containers[0].lifecycle.stopSignal", { containers: [containerWith({ lifecycle: { stopSignal: "SIGQUIT" } })] }, {}],
  ["spec.dnsConfig.nameservers[0]", { dnsConfig: { nameservers: ["${attr.unique.network.ip-address}"] } }, {}],
  ["spec.dnsConfig.searches[1]", { dnsConfig: { searches: ["a", "${meta.rack}.example.com"] } }, {}],
  ["spec.dnsConfig.options[0].name", { dnsConfig: { options: [{ name: "${NOMAD_JOB_ID}" }] } }, {}],
  ["spec.dnsConfig.options[0].value", { dnsConfig: { options: [{ name: "ndots", value: "${attr.kernel.version}" }] } }, {}],
  ["spec.runtimeClassName", { runtimeClassName: "kata" }, {}],
  ["spec.hostUsers", { hostUsers: false }, {}],
  ["spec.resourceClaims", { resourceClaims: [{ name: "gpu" }] }, {}],
  ["spec.securityContext.sysctls", { securityContext: { sysctls: [{ name: "a", value: "b" }] } }, {}],
  [
    "spec.containers[0].resources.limits['example.com/fpga']",
    { containers: [containerWith({ resources: { limits: { "example.com/fpga": "1" } } })] },
    {},
  ],
  [
    "spec.containers[0].volumeMounts[0].subPathExpr",
    { containers: [containerWith({ volumeMounts: [{ name: "w", mountPath: "/w", subPathExpr: "$(A)" }] })] },
    {},
  ],
  [
    "spec.containers[0].volumeMounts[0].mountPath",
    { volumes: [{ name: "e", emptyDir: {} }], containers: [containerWith({ volumeMounts: [{ name: "e", mountPath: "/e:rshared" }] })] },
    {},
  ],
  [
    "spec.containers[0].volumeMounts[0].mountPath",
    {
      volumes: [{ name: "e", emptyDir: { medium: "Memory" } }],
      containers: [containerWith({ volumeMounts: [{ name: "e", mountPath: "/${attr.unique.hostname}" }] })],
    },
    {},
  ],
  [
    "spec.containers[0].volumeMounts[0].subPath",
    {
      volumes: [{ name: "d", persistentVolumeClaim: { claimName: "data" } }],
      containers: [containerWith({ volumeMounts: [{ name: "d", mountPath: "/d", subPath: "mine" }] })],
    },
    { volumes: { data: { type: "host", source: "disk" } } },
  ],
  [
    "spec.containers[0].volumeMounts[0].subPath",
    {
      volumes: [{ name: "e", emptyDir: {} }],
      initContainers: [containerWith({ name: "first", volumeMounts: [{ name: "e", mountPath: "/e" }] })],
      containers: [containerWith({ volumeMounts: [{ name: "e", mountPath: "/e", subPath: "link" }] })],
    },
    {},
  ],
  [
    "spec.containers[0].volumeMounts[1].subPath",
    {
      volumes: [{ name: "e", emptyDir: {} }],
      containers: [
        containerWith({
          volumeMounts: [
            { name: "e", mountPath: "/a", subPath: "./a" },
            { name: "e", mountPath: "/b", subPath: "a//link" },
          ],
        }),
      ],
    },
    {},
  ],
  [
    "spec.volumes[0]",
    {
      volumes: [{ name: "c", projected: { sources: [{ configMap: { name: "c", items: [{ key: "k", path: "${node.unique.name}" }] } }] } }],
    },
    {},
  ],
  ["spec.volumes[0].hostPath.path", { volumes: [{ name: "h", hostPath: { path: "/srv:/etc" } }] }, { policy: { hostPaths: ["/srv:"] } }],
  ["spec.volumes[0].persistentVolumeClaim.claimName", { volumes: [{ name: "d", persistentVolumeClaim: { claimName: "data" } }] }, {}],
  [
    "spec.volumes[0].persistentVolumeClaim.claimName",
    { volumes: [{ name: "d", persistentVolumeClaim: { claimName: "other/data" } }] },
    { volumes: { "other/data": { type: "host", source: "disk" } } },
  ],
  ["spec.volumes[0].emptyDir", { volumes: [{ name: "e", emptyDir: {} }], containers: [containerWith({ command: ["x"] })] }, rawExec],
  [
    "spec.volumes[0].emptyDir",
    {
      volumes: [
        { name: "a", emptyDir: {} },
        { name: "b", emptyDir: {} },
      ],
      securityContext: { runAsUser: 1000 },
    },
    {},
  ],
  ["spec.containers[0].command", {}, rawExec],
  [
    "spec.containers[0].livenessProbe.terminationGracePeriodSeconds",
    { terminationGracePeriodSeconds: 10, containers: [containerWith({ livenessProbe: { exec, terminationGracePeriodSeconds: 11 } })] },
    {},
  ],
  [
    "spec.containers[0].readinessProbe.timeoutSeconds",
    { containers: [containerWith({ readinessProbe: { exec, timeoutSeconds: 31 } })] },
    {},
  ],
  ["spec.containers[0].readinessProbe.httpGet", { containers: [containerWith({ readinessProbe: { httpGet: { port: 80 } } })] }, alone],
  ["spec.containers[0].startupProbe.tcpSocket", { containers: [containerWith({ startupProbe: { tcpSocket: { port: 80 } } })] }, alone],
  ["spec.containers[0].livenessProbe.grpc", { containers: [containerWith({ livenessProbe: { grpc: { port: 80 } } })] }, alone],
  [
    "spec.initContainers[0].startupProbe",
    { initContainers: [containerWith({ name: "proxy", restartPolicy: "Always", startupProbe: { exec } })] },
    { secrets: "inline" },
  ],
  [
    "spec.containers[0].securityContext.privileged",
    { containers: [containerWith({ command: ["x"], securityContext: { privileged: true } })] },
    rawExec,
  ],
  ["spec.containers[0].tty", { containers: [containerWith({ command: ["x"], tty: true })] }, rawExec],
])("%s is refused by its name", (fieldPath, spec, config) => {
  let error: unknown;
  try {
    planOf(podWith(spec), config);
  } catch (caught) {
    error = caught;
  }

  expect(codeOf(error)).toBe("VK_UNSUPPORTED");
  expect(error).toMatchObject({ fieldPath, message: expect.stringContaining(fieldPath) as unknown });
});

test.each<[string, Spec, object, Record<string, string>?]>([
  [
    "several containers that say they share no localhost",
    { containers: two },
    { network: "task" },
    { "nomad.hashicorp.com/shared-localhost": "false" },
  ],
  [
    "a claim that the configuration knows",
    { volumes: [{ name: "d", persistentVolumeClaim: { claimName: "data" } }] },
    { volumes: { "shop/data": { type: "host", source: "disk" } } },
  ],
  [
    "a sub-path whose folder nobody can write to",
    {
      volumes: [{ name: "e", emptyDir: {} }],
      initContainers: [containerWith({ name: "first", volumeMounts: [{ name: "e", mountPath: "/e", subPath: "b/" }] })],
      containers: [
        containerWith({
          volumeMounts: [
            { name: "e", mountPath: "/all", readOnly: true },
            { name: "e", mountPath: "/a", subPath: "a" },
            { name: "e", mountPath: "/b", subPath: "b" },
          ],
        }),
      ],
    },
    {},
  ],
  ["a folder of the client", { volumes: [{ name: "h", hostPath: { path: "/srv/data" } }] }, { policy: { hostPaths: ["/srv"] } }],
  ["a hook that runs a command", { containers: [containerWith({ lifecycle: { postStart: { exec: { command: ["true"] } } } })] }, {}],
  ["a command of a probe that has half a minute", { containers: [containerWith({ startupProbe: { exec, timeoutSeconds: 30 } })] }, {}],
  ["a probe by HTTP that has longer", { containers: [containerWith({ startupProbe: { httpGet: { port: 80 }, timeoutSeconds: 31 } })] }, {}],
  ["pull secrets that are to be ignored", { imagePullSecrets: [{ name: "registry" }] }, { imagePullSecrets: "ignore" }],
  ["pull secrets that are to be used", { imagePullSecrets: [{ name: "registry" }] }, { imagePullSecrets: "use" }],
])("%s is taken", (_name, spec, config, annotations) => {
  expect(() => planOf(podWith(spec, annotations), config)).not.toThrow();
});

test("a message names the other fields, too", () => {
  expect(() => planOf(podWith({ activeDeadlineSeconds: 5, runtimeClassName: "kata" }))).toThrow(
    /^spec\.activeDeadlineSeconds: .*; also spec\.runtimeClassName$/,
  );
});

test("more than a variable holds is refused", () => {
  const pod = podWith({
    containers: [containerWith({ volumeMounts: [{ name: "big", mountPath: "/b" }] })],
    volumes: [{ name: "big", configMap: { name: "big" } }],
  });

  expect(() => planOf(pod, {}, { files: { big: { a: "x".repeat(70_000) } } })).toThrow(/70017 bytes .* Nomad takes 65536/);
});
