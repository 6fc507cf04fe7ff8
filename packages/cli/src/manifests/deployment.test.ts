import { expect, test } from "vitest";
import { parse } from "yaml";
import { settingsSchema } from "../config/schema.ts";
import { ConfigError } from "../program-error.ts";
import { deploymentObjects, type DeploymentPlan } from "./deployment.ts";

const file = (config: object): object => ({ apiVersion: "virtual-kubelet.io/v1alpha1", kind: "VirtualKubelet", ...config });

function plan(config: object, more: Partial<DeploymentPlan> = {}): DeploymentPlan {
  const whole = file(config);
  return {
    image: "registry.example.com/vk:1",
    replicas: 1,
    settings: settingsSchema.parse(whole),
    config: whole,
    providerFiles: new Map(),
    nameOf: (path) => path.join("."),
    ...more,
  };
}

/** The objects by kind. */
async function objectsOf(made: DeploymentPlan): Promise<Readonly<Record<string, Record<string, unknown>>>> {
  return Object.fromEntries((await deploymentObjects(made)).map(({ object }) => [object.kind, object]));
}

async function configOf(made: DeploymentPlan): Promise<unknown> {
  const { data } = (await objectsOf(made))["ConfigMap"] as { data: Record<string, string> };
  return parse(data["config.yaml"] ?? "");
}

const mock = { name: "vk-1", provider: "mock" };

test("the pod's configuration is the given one, standing by and probed from outside, without the kubeconfig of this machine", async () => {
  const config = {
    cluster: { kubeconfig: "./mine", context: "mine", id: "east" },
    instance: { identity: "laptop" },
    health: { address: "127.0.0.1:1" },
    nodes: [{ ...mock, onShutdown: "drain" }],
  };

  const found = await configOf(plan(config));

  expect(found).toEqual(
    file({
      cluster: { id: "east" },
      instance: { standby: true },
      health: { address: ":10248" },
      nodes: [{ ...mock, onShutdown: "drain" }],
    }),
  );
  expect(settingsSchema.safeParse(found).success).toBe(true);
});

test("a provider's file becomes a key of a Secret beside the configuration", async () => {
  const made = plan(
    { nodes: [mock, { name: "vk-2", provider: "nomad", providerConfigFile: "../nomad.toml" }] },
    { providerFiles: new Map([[1, { suffix: ".toml", text: 'token = "t"' }]]) },
  );

  const { Secret } = await objectsOf(made);

  expect(Secret).toMatchObject({ metadata: { name: "virtual-kubelet-vk-1-provider" }, stringData: { "provider-1.toml": 'token = "t"' } });
  expect(await configOf(made)).toMatchObject({ nodes: [mock, { provider: "nomad", providerConfigFile: "provider-1.toml" }] });
});

test("a provider's configuration that contains a secret is in no ConfigMap", async () => {
  const made = plan({ nodes: [{ name: "vk-1", provider: "nomad", providerConfig: { token: "t0p" } }] });

  const objects = await objectsOf(made);

  expect(JSON.stringify(objects["ConfigMap"])).not.toContain("t0p");
  expect(objects["Secret"]).toMatchObject({ stringData: { "provider-0.json": expect.stringContaining("t0p") } });
});

test("pods run again when the configuration changes", async () => {
  const annotationsOf = async (config: object): Promise<unknown> => {
    const { spec } = (await objectsOf(plan(config)))["Deployment"] as { spec: { template: { metadata: { annotations: unknown } } } };
    return spec.template.metadata.annotations;
  };

  const [first, same, other] = await Promise.all(
    [{}, {}, { log: { level: "debug" } }].map((more) => annotationsOf({ nodes: [mock], ...more })),
  );

  expect(first).toEqual(same);
  expect(first).not.toEqual(other);
});

test("a disruption budget is there only for several copies, because of one it would keep a machine from being drained", async () => {
  const kinds = async (replicas: number): Promise<string[]> => Object.keys(await objectsOf(plan({ nodes: [mock] }, { replicas })));

  expect(await kinds(1)).toEqual(["ConfigMap", "Deployment"]);
  expect(await kinds(2)).toEqual(["ConfigMap", "Deployment", "PodDisruptionBudget"]);
});

test("each port of the nodes is named once", async () => {
  const nodes = [
    mock,
    { ...mock, name: "vk-2" },
    { ...mock, name: "vk-3", kubeletPort: 10_260 },
    { ...mock, name: "vk-4", kubeletPort: 0 },
  ];
  const { spec } = (await objectsOf(plan({ nodes })))["Deployment"] as {
    spec: { template: { spec: { containers: [{ ports: unknown }] } } };
  };

  expect(spec.template.spec.containers[0].ports).toEqual([
    { name: "kubelet", containerPort: 10_250 },
    { name: "kubelet-1", containerPort: 10_260 },
    { name: "health", containerPort: 10_248 },
  ]);
});

test("names are labels also where the node's is as long as names get, and differ from another node's", async () => {
  const nameOf = async (letter: string): Promise<string> => {
    const { metadata } = (await objectsOf(plan({ nodes: [{ ...mock, name: letter.repeat(253) }] })))["Deployment"] as {
      metadata: { name: string };
    };
    return metadata.name;
  };

  const [a, b] = [await nameOf("a"), await nameOf("b")];

  expect(a.length).toBeLessThanOrEqual(63);
  expect(a).not.toBe(b);
});

test.each(["clientCAFile", "certDirectory"])("kubelet.%s is refused, because the file would not be in the pod", async (field) => {
  const made = plan({ nodes: [mock], kubelet: { [field]: "/etc/x" } });

  await expect(deploymentObjects(made)).rejects.toThrow(
    new ConfigError(
      `kubelet.${field}: "/etc/x": expected no file of this machine, because the pod would not have it: leave it out, or use the Helm chart, which can mount it`,
    ),
  );
});
