import { planPod, type Pod, type PodRefusal, type ProviderDefinition } from "@virtual-kubelet/core";
import { provider as docker } from "@virtual-kubelet/provider-docker";
import { provider as mock } from "@virtual-kubelet/provider-mock";
import { provider as nomad } from "@virtual-kubelet/provider-nomad";
import { provider as zun } from "@virtual-kubelet/provider-zun";
import { describe, expect, test } from "vitest";

// Attacks by a tenant of a shared cluster that do not depend on the provider. None of these pods reaches a provider, because core checks
// the policy first, with the same messages for all providers.

const signal = new AbortController().signal;

interface Setup {
  readonly definition: ProviderDefinition;
  readonly config: object;
}

const closed: Readonly<Record<string, Setup>> = {
  docker: { definition: docker, config: {} },
  nomad: { definition: nomad, config: {} },
  zun: { definition: zun, config: {} },
  mock: { definition: mock, config: { policy: {} } },
};

type Spec = NonNullable<Pod["spec"]>;

function podOf(spec: Partial<Spec>, metadata: Pod["metadata"] = {}): Pod {
  return {
    metadata: { namespace: "tenant", name: "hostile", uid: "uid-1", ...metadata },
    spec: { automountServiceAccountToken: false, containers: [{ name: "main", image: "busybox:1.37", command: ["sh"] }], ...spec },
  };
}

const container = (rest: Partial<Spec["containers"][number]>): Partial<Spec> => ({
  containers: [{ name: "main", image: "busybox:1.37", command: ["sh"], ...rest }],
});

const hostile: readonly (readonly [trick: string, pod: Pod])[] = [
  ["the node's network, processes and shared memory", podOf({ hostNetwork: true, hostPID: true, hostIPC: true })],
  ["a privileged container", podOf(container({ securityContext: { privileged: true } }))],
  [
    "a privileged init container behind a harmless name",
    podOf({ initContainers: [{ name: "istio-init", image: "busybox:1.37", securityContext: { privileged: true } }] }),
  ],
  [
    "capabilities, by a name in lower case",
    podOf(container({ securityContext: { capabilities: { add: ["sys_admin", "CAP_SYS_PTRACE"] } } })),
  ],
  ["the node's root folder", podOf({ volumes: [{ name: "root", hostPath: { path: "/" } }] })],
  ["a folder that climbs", podOf({ volumes: [{ name: "logs", hostPath: { path: "/var/log/../../etc" } }] })],
  [
    "no confinement, by fields and by the annotation before them",
    podOf(container({ securityContext: { seccompProfile: { type: "Unconfined" }, procMount: "Unmasked" } }), {
      annotations: { "container.apparmor.security.beta.kubernetes.io/main": "unconfined" },
    }),
  ],
  ["a device", podOf(container({ volumeDevices: [{ name: "disk", devicePath: "/dev/sda" }] }))],
  ["a probe of the node's own ports", podOf(container({ livenessProbe: { tcpSocket: { host: "127.0.0.1", port: 10250 } } }))],
  [
    "labels and variables that claim it may",
    podOf(
      { hostPID: true, ...container({ env: [{ name: "POLICY", value: "privileged" }] }) },
      { labels: { "pod-security.kubernetes.io/enforce": "privileged" } },
    ),
  ],
];

async function refusalsOf({ definition, config }: Setup, pod: Pod): Promise<readonly PodRefusal[]> {
  const options = {
    provider: definition,
    providerConfig: config,
    nodeName: "node-1",
    clusterId: "cluster-1",
    clusterDomain: "cluster.local",
  };
  return (await planPod({ ...options, pod }, signal)).refused;
}

describe.each(hostile)("a pod that asks for %s", (_trick, pod) => {
  test("is refused by every provider in the same words", async () => {
    const [first, ...others] = await Promise.all(Object.values(closed).map((setup) => refusalsOf(setup, pod)));

    expect(first?.length).toBeGreaterThan(0);
    for (const { fieldPath, message } of first ?? []) {
      expect(fieldPath).toMatch(/^(spec|metadata)\./);
      expect(message).toMatch(/^asks for .*, which this node does not allow; (policy\.\w+|no setting) allows it$/);
    }
    for (const other of others) expect(other).toEqual(first);
  });
});

test.each([
  ["docker", "docker.virtual-kubelet.io/network", "host"],
  ["nomad", "nomad.hashicorp.com/driver", "raw_exec"],
  ["nomad", "nomad.hashicorp.com/datacenters", "*"],
  ["nomad", "nomad.hashicorp.com/node-pool", "admin"],
  ["nomad", "nomad.hashicorp.com/constraint", "${node.unique.name} = vault-1"],
  ["zun", "zun.virtual-kubelet.io/networks", "management"],
  ["zun", "zun.virtual-kubelet.io/subnets", "management"],
  ["zun", "zun.virtual-kubelet.io/security-groups", "open"],
  ["zun", "zun.virtual-kubelet.io/fixed-ip", "10.0.0.1"],
  ["zun", "zun.virtual-kubelet.io/floating-ip", "true"],
  ["zun", "zun.virtual-kubelet.io/availability-zone", "internal"],
  ["zun", "zun.virtual-kubelet.io/registry", "somebody-elses"],
] as const)("on %s a pod that chooses by %s is refused in those words, too", async (name, annotation, value) => {
  const setup = closed[name];
  if (!setup) throw new Error(`no provider ${name}`);

  expect(await refusalsOf(setup, podOf({}, { annotations: { [annotation]: value } }))).toEqual([
    {
      fieldPath: `metadata.annotations['${annotation}']`,
      message: `asks for ${JSON.stringify(value)}, which this node does not allow; policy.annotations allows it`,
    },
  ]);
});

test.each([
  ["cinder", "cinder.volumeID", { cinder: { volumeID: "somebody-elses" } }],
  ["flexVolume", "flexVolume.options.volumeID", { flexVolume: { driver: "openstack/cinder", options: { volumeID: "somebody-elses" } } }],
] as const)(
  "on zun a pod that names a volume of the project by %s is refused in those words, unless its namespace may have it",
  async (_, field, source) => {
    const refused = [
      {
        fieldPath: `spec.volumes[0].${field}`,
        message: 'asks for the volume "somebody-elses", which this node does not allow; policy.volumes allows it',
      },
    ];
    const pod = podOf({ volumes: [{ name: "data", ...source }] });
    const allowing = (volumes: object): Setup => ({ definition: zun, config: { policy: { volumes } } });

    expect(await refusalsOf(closed["zun"] as Setup, pod)).toEqual(refused);
    expect(await refusalsOf(allowing({ somebody: ["somebody-elses"] }), pod)).toEqual(refused);
    expect(await refusalsOf(allowing({ tenant: ["somebody-elses"] }), pod)).toEqual([]);
  },
);

test("a pod that asks for a Windows node itself is refused where pods of Windows run, and means nothing elsewhere", async () => {
  const securityContext = { windowsOptions: { hostProcess: true } };
  const pod = podOf({ ...container({ securityContext }), securityContext });
  const refused = ["spec", "spec.containers[0]"].map((owner) => ({
    fieldPath: `${owner}.securityContext.windowsOptions.hostProcess`,
    message: "asks for all of the node, which this node does not allow; policy.privileged allows it",
  }));

  expect(await refusalsOf(closed["mock"] as Setup, pod)).toEqual(refused);
  expect(await refusalsOf(closed["docker"] as Setup, pod)).toEqual([]);
});

test("a pod as the level baseline has it is refused by none", async () => {
  const securityContext = { runAsUser: 1000, allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } };
  const plain = podOf({});
  const careful = podOf(container({ securityContext }));

  for (const setup of Object.values(closed)) expect(await refusalsOf(setup, plain)).toEqual([]);
  for (const name of ["docker", "nomad", "mock"]) expect(await refusalsOf(closed[name] as Setup, careful)).toEqual([]);
});
