import type { Container, Pod, PodSpec } from "@virtual-kubelet/core";
import { isUnsupported } from "@virtual-kubelet/errdefs";
import { describe, expect, test } from "vitest";
import { checkPod } from "./check-pod.ts";
import { isAllowedHostPath, type PodPolicy } from "./pod-policy.ts";
import { policyProblems } from "./policy-problems.ts";

function errorOf(spec: Partial<PodSpec>, policy: PodPolicy = {}, metadata: Pod["metadata"] = {}): unknown {
  try {
    checkPod({ metadata, spec: { containers: [{ name: "app" }], ...spec } }, policy);
    return undefined;
  } catch (error) {
    return error;
  }
}

function withContext(securityContext: Container["securityContext"]): Partial<PodSpec> {
  return { containers: [{ name: "app", securityContext }] };
}

/** Field, pod that asks for it, policy that allows it. */
const refused: readonly [string, Partial<PodSpec>, PodPolicy][] = [
  ["spec.hostNetwork", { hostNetwork: true }, { hostNetwork: true }],
  ["spec.hostPID", { hostPID: true }, { hostPID: true }],
  ["spec.hostIPC", { hostIPC: true }, { hostIPC: true }],
  ["spec.containers[0].securityContext.privileged", withContext({ privileged: true }), { privileged: true }],
  [
    "spec.containers[0].securityContext.capabilities.add[0]",
    withContext({ capabilities: { add: ["NET_ADMIN"] } }),
    { capabilities: ["NET_ADMIN"] },
  ],
  [
    "spec.containers[0].securityContext.capabilities.add[1]",
    withContext({ capabilities: { add: ["CHOWN", "ALL"] } }),
    { capabilities: ["ALL"] },
  ],
  ["spec.containers[0].securityContext.procMount", withContext({ procMount: "Unmasked" }), { unconfined: true }],
  ["spec.containers[0].securityContext.seccompProfile.type", withContext({ seccompProfile: { type: "Unconfined" } }), { unconfined: true }],
  ["spec.securityContext.seccompProfile.type", { securityContext: { seccompProfile: { type: "Unconfined" } } }, { unconfined: true }],
  ["spec.securityContext.appArmorProfile.type", { securityContext: { appArmorProfile: { type: "Unconfined" } } }, { unconfined: true }],
  [
    "spec.securityContext.appArmorProfile.localhostProfile",
    { securityContext: { appArmorProfile: { type: "Localhost", localhostProfile: "unconfined" } } },
    { unconfined: true },
  ],
  [
    "spec.containers[0].securityContext.appArmorProfile.localhostProfile",
    withContext({ appArmorProfile: { type: "Localhost", localhostProfile: ":root://unconfined" } }),
    { unconfined: true },
  ],
  [
    "spec.containers[0].livenessProbe.httpGet.host",
    { containers: [{ name: "app", livenessProbe: { httpGet: { host: "127.0.0.1", port: 2375 } } }] },
    { hostNetwork: true },
  ],
  [
    "spec.containers[0].readinessProbe.tcpSocket.host",
    { containers: [{ name: "app", readinessProbe: { tcpSocket: { host: "169.254.169.254", port: 80 } } }] },
    { hostNetwork: true },
  ],
  [
    "spec.initContainers[0].lifecycle.preStop.httpGet.host",
    { initContainers: [{ name: "init", lifecycle: { preStop: { httpGet: { host: "localhost", port: 80 } } } }] },
    { hostNetwork: true },
  ],
  ["spec.securityContext.seLinuxOptions.type", { securityContext: { seLinuxOptions: { type: "spc_t" } } }, { unconfined: true }],
  ["spec.volumes[0].hostPath.path", { volumes: [{ name: "v", hostPath: { path: "/var/log/app" } }] }, { hostPaths: ["/var/log/"] }],
  [
    "spec.containers[0].ports[0].hostPort",
    { containers: [{ name: "app", ports: [{ containerPort: 80, hostPort: 80 }] }] },
    { hostPorts: true },
  ],
  [
    "spec.initContainers[0].securityContext.privileged",
    { initContainers: [{ name: "init", securityContext: { privileged: true } }] },
    { privileged: true },
  ],
  [
    "spec.ephemeralContainers[0].securityContext.privileged",
    { ephemeralContainers: [{ name: "debug", securityContext: { privileged: true } }] },
    { privileged: true },
  ],
];

describe("checkPod", () => {
  test.for(refused)("refuses %s by default, says which setting allows it, and that one does", ([fieldPath, spec, allowing]) => {
    const error = errorOf(spec, { hostPorts: false });

    expect(error).toMatchObject({ code: "VK_UNSUPPORTED", fieldPath });
    expect(error).toHaveProperty("message", expect.stringContaining(`; policy.${Object.keys(allowing)[0]} allows it)`));
    expect(errorOf(spec, { hostPorts: false, ...allowing })).toBeUndefined();
  });

  test("lets an ordinary pod pass, with all that the level baseline allows", () => {
    const spec: Partial<PodSpec> = {
      hostUsers: true,
      securityContext: {
        runAsUser: 1000,
        fsGroup: 1000,
        seccompProfile: { type: "RuntimeDefault" },
        appArmorProfile: { type: "Localhost", localhostProfile: "k8s-apparmor-example-deny-write" },
        seLinuxOptions: { type: "container_t" },
      },
      volumes: [{ name: "v", emptyDir: {} }],
      containers: [
        {
          name: "app",
          ports: [{ containerPort: 80, hostPort: 8080 }],
          livenessProbe: { httpGet: { host: "", port: 80 } },
          securityContext: {
            privileged: false,
            procMount: "Default",
            capabilities: { add: ["NET_BIND_SERVICE", "CAP_CHOWN"], drop: ["ALL"] },
          },
        },
      ],
    };
    expect(errorOf(spec)).toBeUndefined();
    expect(errorOf({})).toBeUndefined();
  });

  test("names every field at once", () => {
    const error = errorOf({ hostNetwork: true, hostPID: true });
    expect(error).toHaveProperty(
      "message",
      expect.stringMatching(
        /^not allowed on this node: spec\.hostNetwork \(.*\), spec\.hostPID \(.*\); the policy is in the provider's configuration$/,
      ),
    );
  });

  test.for<[string, Partial<PodSpec>]>([
    ["spec.hostUsers", { hostUsers: false }],
    ["spec.resourceClaims", { resourceClaims: [{ name: "gpu" }] }],
    ["spec.containers[0].volumeDevices", { containers: [{ name: "app", volumeDevices: [{ name: "v", devicePath: "/dev/x" }] }] }],
  ])("refuses %s whatever the policy", ([fieldPath, spec]) => {
    const error = errorOf(spec, { privileged: true, unconfined: true, hostPaths: ["/"], capabilities: ["ALL"] });
    expect(error).toMatchObject({ fieldPath, message: expect.stringContaining("; no setting allows it)") });
  });

  test("what is said for Windows nodes means nothing on this one, as with a kubelet", () => {
    const windowsOptions = { hostProcess: true, runAsUserName: "NT AUTHORITY\\SYSTEM" };
    expect(errorOf({ securityContext: { windowsOptions } })).toBeUndefined();
    expect(errorOf(withContext({ windowsOptions }))).toBeUndefined();
  });

  test("a capability is known by any of its names", () => {
    const spec = withContext({ capabilities: { add: ["CAP_NET_ADMIN", "net_admin"] } });
    expect(errorOf(spec, { capabilities: ["NET_ADMIN"] })).toBeUndefined();
    expect(errorOf(spec, { capabilities: ["NET_RAW"] })).toSatisfy(isUnsupported);
  });

  test("an AppArmor annotation counts like its field", () => {
    const annotations = { "container.apparmor.security.beta.kubernetes.io/app": "unconfined" };
    expect(errorOf({}, {}, { annotations })).toSatisfy(isUnsupported);
    expect(errorOf({}, { unconfined: true }, { annotations })).toBeUndefined();
  });

  test("ports of a pod on the node's network are none of its own", () => {
    const containers = [{ name: "app", ports: [{ containerPort: 80, hostPort: 80 }] }];
    expect(errorOf({ hostNetwork: true, containers }, { hostNetwork: true, hostPorts: false })).toBeUndefined();
  });

  test("a forbidden sysctl makes the pod Failed, with a kubelet's reason and message", () => {
    const spec: Partial<PodSpec> = { securityContext: { sysctls: [{ name: "net.core.somaxconn", value: "1024" }] } };
    expect(errorOf(spec)).toMatchObject({
      code: "VK_TERMINAL",
      reason: "SysctlForbidden",
      message: `Pod was rejected: forbidden sysctl: "net.core.somaxconn" not allowlisted`,
    });
    expect(errorOf(spec, { sysctls: ["net.core.*"] })).toBeUndefined();
  });
});

test.for<[string, readonly string[], boolean]>([
  ["/var/log", ["/var/log"], true],
  ["/var/log/pods/", ["/var/log"], true],
  ["/var//log/./pods", ["/var/log/"], true],
  ["/var/logs", ["/var/log"], false],
  ["/var/log/../../etc", ["/var/log"], false],
  ["var/log", ["/"], false],
  ["/etc", ["/"], true],
  ["/etc", [], false],
])("%s below %j is allowed: %j", ([path, hostPaths, expected]) => {
  expect(isAllowedHostPath(path, { hostPaths })).toBe(expected);
});

test("policyProblems names what can never be meant so", () => {
  const policy = {
    hostPaths: ["/ok", "relative", "/a/../b"],
    sysctls: ["net.*", "kernel.msgmax", "fs.mqueue.*", "kernel.panic", "vm.*", "net.*.x"],
    capabilities: ["NET_ADMIN", "ALL", "CAP_SYS_TIME", "net admin"],
  };
  expect(policyProblems(policy).map(({ path }) => path.join("."))).toEqual([
    "hostPaths.1",
    "hostPaths.2",
    "sysctls.3",
    "sysctls.4",
    "sysctls.5",
    "capabilities.3",
  ]);
  expect(policyProblems({})).toEqual([]);
});
