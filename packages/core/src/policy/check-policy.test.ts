import { isUnsupported, messageOf } from "@virtual-kubelet/errdefs";
import type { Container, Pod, PodSpec } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { checkPolicy, policyVerdict } from "./check-policy.ts";
import { isAllowedHostPath, type PodPolicy, type PolicyVolume } from "./pod-policy.ts";

function errorOf(spec: Partial<PodSpec>, policy: PodPolicy = {}, metadata: Pod["metadata"] = {}): unknown {
  try {
    checkPolicy({ metadata, spec: { containers: [{ name: "app" }], ...spec } }, policy);
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
  ["spec.securityContext.windowsOptions.hostProcess", { securityContext: { windowsOptions: { hostProcess: true } } }, { privileged: true }],
  [
    "spec.containers[0].securityContext.windowsOptions.hostProcess",
    withContext({ windowsOptions: { hostProcess: true } }),
    { privileged: true },
  ],
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

describe("checkPolicy", () => {
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
            windowsOptions: { hostProcess: false },
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

  test("what is said for Windows nodes means nothing on Linux, as with a kubelet", () => {
    const windowsOptions = { hostProcess: true, runAsUserName: "NT AUTHORITY\\SYSTEM" };
    for (const spec of [{ securityContext: { windowsOptions } }, withContext({ windowsOptions })]) {
      const pod = { spec: { containers: [{ name: "app" }], ...spec } };
      expect(policyVerdict(pod, {}, { operatingSystems: ["linux"] })).toEqual({ kind: "allowed" });
      expect(policyVerdict(pod, {}, { operatingSystems: ["linux", "windows"] })).toMatchObject({ kind: "refused" });
    }
  });

  test("a container that debugs others of its pod may trace them, and nobody else", () => {
    const securityContext = { capabilities: { add: ["SYS_PTRACE"] } };
    const debugging = { name: "debugger", image: "app:1", securityContext };
    const attached = { containers: [{ name: "app", image: "app:1" }], ephemeralContainers: [debugging] };
    const copied = { containers: [{ name: "app", image: "app:1" }, debugging], shareProcessNamespace: true };

    expect([errorOf(attached), errorOf(copied)]).toEqual([undefined, undefined]);
    for (const spec of [attached, copied])
      expect(messageOf(errorOf({ ...spec, hostPID: true }, { hostPID: true }))).toContain("SYS_PTRACE");
    expect(messageOf(errorOf({ ...copied, shareProcessNamespace: false }))).toContain("SYS_PTRACE");
    const all = { ...debugging, securityContext: { capabilities: { add: ["SYS_PTRACE", "SYS_ADMIN"] } } };
    expect(messageOf(errorOf({ ...attached, ephemeralContainers: [all] }))).toContain("SYS_ADMIN");
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

describe("what the level baseline allows", () => {
  test.for([
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
  ])("every container may add the capability %s", (name) => {
    expect(errorOf(withContext({ capabilities: { add: [name, `CAP_${name}`, name.toLowerCase()] } }))).toBeUndefined();
  });

  test.for(["SYS_ADMIN", "NET_RAW", "CHOWN_ALL", "XCHOWN", ""])("but not the capability %j", (name) => {
    expect(errorOf(withContext({ capabilities: { add: [name] } }))).toSatisfy(isUnsupported);
  });

  test.for(["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"])("the SELinux type %j confines", (type) => {
    expect(errorOf({ securityContext: { seLinuxOptions: { type } } })).toBeUndefined();
  });

  test("a level of SELinux alone is fine", () => {
    expect(errorOf(withContext({ seLinuxOptions: { level: "s0:c1" } }))).toBeUndefined();
  });
});

test.for<[string, Partial<PodSpec>]>([
  ["spec.securityContext.seLinuxOptions.user", { securityContext: { seLinuxOptions: { user: "system_u" } } }],
  ["spec.securityContext.seLinuxOptions.role", { securityContext: { seLinuxOptions: { role: "system_r" } } }],
  ["spec.containers[0].securityContext.seLinuxOptions.type", withContext({ seLinuxOptions: { type: "unconfined_t" } })],
  ["spec.containers[0].securityContext.appArmorProfile.type", withContext({ appArmorProfile: { type: "Unconfined" } })],
  [
    "spec.containers[0].securityContext.appArmorProfile.localhostProfile",
    withContext({ appArmorProfile: { type: "Localhost", localhostProfile: " unconfined " } }),
  ],
  [
    "spec.containers[0].securityContext.appArmorProfile.localhostProfile",
    withContext({ appArmorProfile: { type: "Localhost", localhostProfile: "a&b" } }),
  ],
])("%s is refused with what would leave confinement, unless the policy lets it", ([fieldPath, spec]) => {
  expect(errorOf(spec)).toMatchObject({ code: "VK_UNSUPPORTED", fieldPath });
  expect(errorOf(spec, { unconfined: true })).toBeUndefined();
});

test.for(["livenessProbe", "readinessProbe", "startupProbe"] as const)("%s may ask no host but its own, by HTTP or TCP", (probe) => {
  const asking = (action: object): Partial<PodSpec> => ({ containers: [{ name: "app", [probe]: action }] });

  for (const [kind, action] of [
    ["httpGet", { httpGet: { host: "10.0.0.1", port: 80 } }],
    ["tcpSocket", { tcpSocket: { host: "10.0.0.1", port: 80 } }],
  ] as const) {
    expect(errorOf(asking(action))).toMatchObject({ fieldPath: `spec.containers[0].${probe}.${kind}.host` });
    expect(errorOf(asking(action), { hostNetwork: true })).toBeUndefined();
  }
  expect(errorOf(asking({ httpGet: { port: 80 } }))).toBeUndefined();
  expect(errorOf(asking({ exec: { command: ["true"] } }))).toBeUndefined();
});

test.for(["postStart", "preStop"] as const)("the hook %s may ask no host but its own", (hook) => {
  const asking = (host: string): Partial<PodSpec> => ({
    containers: [{ name: "app", lifecycle: { [hook]: { httpGet: { host, port: 80 } } } }],
  });

  expect(errorOf(asking("10.0.0.1"))).toMatchObject({ fieldPath: `spec.containers[0].lifecycle.${hook}.httpGet.host` });
  expect(errorOf(asking("10.0.0.1"), { hostNetwork: true })).toBeUndefined();
  expect(errorOf(asking(""))).toBeUndefined();
});

test("the field that is named is the one that asks, also of the second container, volume, port and capability", () => {
  const second = (container: Partial<Container>): Partial<PodSpec> => ({ containers: [{ name: "a" }, { name: "b", ...container }] });

  expect(errorOf(second({ securityContext: { privileged: true } }))).toMatchObject({
    fieldPath: "spec.containers[1].securityContext.privileged",
  });
  const ports = [{ containerPort: 80 }, { containerPort: 81, hostPort: 81 }];
  expect(errorOf(second({ ports }), { hostPorts: false })).toMatchObject({ fieldPath: "spec.containers[1].ports[1].hostPort" });
  const volumes = [
    { name: "v", emptyDir: {} },
    { name: "w", hostPath: { path: "/etc" } },
  ];
  expect(errorOf({ volumes }, { hostPaths: ["/srv"] })).toMatchObject({ fieldPath: "spec.volumes[1].hostPath.path" });
});

test("only AppArmor's own annotation counts, and only where it leaves confinement", () => {
  const key = "container.apparmor.security.beta.kubernetes.io/app";
  const annotated = (annotations: Record<string, string>): unknown => errorOf({}, {}, { annotations });

  expect(annotated({ [key]: "unconfined" })).toMatchObject({ fieldPath: `metadata.annotations['${key}']` });
  expect(annotated({ [key]: "runtime/default" })).toBeUndefined();
  expect(annotated({ "example.com/app": "unconfined" })).toBeUndefined();
});

test("empty lists ask for nothing", () => {
  expect(
    errorOf(
      { resourceClaims: [], volumes: [], containers: [{ name: "app", volumeDevices: [], ports: [{ containerPort: 80 }] }] },
      { hostPorts: false },
    ),
  ).toBeUndefined();
  expect(errorOf({ hostNetwork: false, hostPID: false, hostIPC: false })).toBeUndefined();
});

test("a pod without a spec asks for nothing", () => {
  expect(() => checkPolicy({}, {})).not.toThrow();
});

test.for<[string, readonly string[], boolean]>([
  ["/", ["/"], true],
  ["/", ["/srv"], false],
  ["/srv/..data", ["/srv"], true],
  ["/srv", ["/other", "/srv"], true],
  ["", ["/"], false],
])("the path %s with the folders %j is allowed: %j", ([path, hostPaths, expected]) => {
  expect(isAllowedHostPath(path, { hostPaths })).toBe(expected);
});

describe("annotations by which a pod chooses how it is run", () => {
  const annotations = [{ name: "example.com/driver" }, { name: "example.com/zones", separator: "," }];
  const refusal = (given: Record<string, string>, policy: PodPolicy = {}): unknown => {
    const verdict = policyVerdict({ metadata: { annotations: given }, spec: { containers: [] } }, policy, { annotations });
    return verdict.kind === "refused" ? verdict.refusals : verdict.kind;
  };

  test("are refused unless the policy names their value", () => {
    const given = { "example.com/driver": "raw" };

    expect(refusal(given)).toEqual([{ fieldPath: "metadata.annotations['example.com/driver']", what: '"raw"', setting: "annotations" }]);
    expect(refusal(given, { annotations: { "example.com/driver": ["safe"] } })).toHaveLength(1);
    expect(refusal(given, { annotations: { "example.com/driver": ["safe", "raw"] } })).toBe("allowed");
    expect(refusal(given, { annotations: { "example.com/driver": ["*"] } })).toBe("allowed");
    expect(refusal(given, { annotations: { "example.com/zones": ["*"] } })).toHaveLength(1);
  });

  test("with several values need all of them to be allowed", () => {
    const policy = { annotations: { "example.com/zones": ["a", "b"] } };

    expect(refusal({ "example.com/zones": "a, b" }, policy)).toBe("allowed");
    expect(refusal({ "example.com/zones": "a,c" }, policy)).toHaveLength(1);
    expect(refusal({ "example.com/zones": "a," }, policy)).toHaveLength(1);
    expect(refusal({ "example.com/zones": "*" }, policy)).toHaveLength(1);
  });

  test("a value without a list is one value, commas and all, and an empty one is a value", () => {
    expect(refusal({ "example.com/driver": "a,b" }, { annotations: { "example.com/driver": ["a", "b"] } })).toHaveLength(1);
    expect(refusal({ "example.com/driver": "" })).toHaveLength(1);
  });

  test("others mean nothing to the policy", () => {
    expect(refusal({ "example.com/other": "x" })).toBe("allowed");
  });
});

describe("volumes of the back end that a pod names by their id", () => {
  const volumes: readonly PolicyVolume[] = [{ fieldPath: "cinder.volumeID", idOf: ({ cinder }) => cinder?.volumeID }];
  const refusal = (volumeID: string, policy: PodPolicy = {}, namespace = "shop"): unknown => {
    const spec = {
      containers: [],
      volumes: [
        { name: "scratch", emptyDir: {} },
        { name: "data", cinder: { volumeID } },
      ],
    };
    const verdict = policyVerdict({ metadata: { namespace }, spec }, policy, { volumes });
    return verdict.kind === "refused" ? verdict.refusals : verdict.kind;
  };

  test("are refused unless the policy names them for the pod's namespace", () => {
    const fieldPath = "spec.volumes[1].cinder.volumeID";

    expect(refusal("v-1")).toEqual([{ fieldPath, what: 'the volume "v-1"', setting: "volumes" }]);
    expect(refusal("v-1", { volumes: { shop: ["v-1"] } })).toBe("allowed");
    expect(refusal("v-2", { volumes: { shop: ["v-1"] } })).toHaveLength(1);
    expect(refusal("v-1", { volumes: { shop: ["v-1"] } }, "other")).toHaveLength(1);
  });

  test("may be any, or for every namespace, where the policy says *", () => {
    expect(refusal("v-1", { volumes: { shop: ["*"] } })).toBe("allowed");
    expect(refusal("v-1", { volumes: { shop: ["*"] } }, "other")).toHaveLength(1);
    expect(refusal("v-1", { volumes: { shop: ["v-2"], "*": ["v-1"] } })).toBe("allowed");
    expect(refusal("v-1", { volumes: { "*": ["v-2"] } })).toHaveLength(1);
  });

  test("have no more rights by an odd id or namespace", () => {
    expect(refusal("", { volumes: { shop: ["v-1"] } })).toHaveLength(1);
    expect(refusal("*", { volumes: { shop: ["v-1"] } })).toHaveLength(1);
    expect(refusal(" v-1", { volumes: { shop: ["v-1"] } })).toHaveLength(1);
    expect(refusal("v-1", { volumes: {} }, "constructor")).toHaveLength(1);
  });
});
