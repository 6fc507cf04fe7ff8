import { expect, test } from "vitest";
import { zunConfigSchema, type ZunConfig } from "../config/schema.ts";
import { checkCapsule, chooseKind } from "./pod-mode.ts";
import { toPodSettings } from "./pod-settings.ts";

function configOf(input: object): ZunConfig {
  const parsed = zunConfigSchema.safeParse(input);
  if (!parsed.success) throw new Error(JSON.stringify(parsed.error.issues));
  return parsed.data;
}

const config = configOf({ networks: ["a"], subnets: ["s"], securityGroups: ["g"] });
const annotated = (annotations: Readonly<Record<string, string>>): ReturnType<typeof toPodSettings> =>
  toPodSettings(
    {
      metadata: {
        annotations: Object.fromEntries(Object.entries(annotations).map(([key, value]) => [`zun.virtual-kubelet.io/${key}`, value])),
      },
    },
    config,
  );

test("a pod without annotations has the configuration's settings", () => {
  expect(annotated({})).toMatchObject({ mode: "auto", networks: ["a"], subnets: ["s"], securityGroups: ["g"], floatingIp: undefined });
});

test("a pod's annotations go over the configuration; who names networks or subnets means these alone", () => {
  expect(annotated({ networks: "x, y", "security-groups": "" })).toMatchObject({ networks: ["x", "y"], subnets: [], securityGroups: [] });
  expect(annotated({ subnets: "z" })).toMatchObject({ networks: [], subnets: ["z"] });
  expect(annotated({ "floating-ip": "true" }).floatingIp).toBe("new");
  expect(annotated({ "floating-ip": "203.0.113.7", "availability-zone": "az" })).toMatchObject({
    floatingIp: "203.0.113.7",
    availabilityZone: "az",
  });
});

test.for([
  ["mode", "pod", "auto, container or capsule"],
  ["fixed-ip", "10.0.0", "an IP address"],
  ["floating-ip", "yes", "true, false, or an IPv4 address"],
] as const)("an annotation %s that cannot be read is named, with its value and what was expected", ([name, value, expected]) => {
  expect(() => annotated({ [name]: value })).toThrow(new RegExp(`zun.virtual-kubelet.io/${name}: "${value}", expected ${expected}`));
});

const container = { name: "a", image: "i" };
const settings = annotated({ networks: "" });

test("a pod of one container is a container, any other a capsule", () => {
  expect(chooseKind({ spec: { containers: [container] } }, settings)).toBe("container");
  expect(chooseKind({ spec: { containers: [container, container] } }, settings)).toBe("capsule");
  expect(chooseKind({ spec: { containers: [container], initContainers: [container] } }, settings)).toBe("capsule");
  expect(chooseKind({ spec: { containers: [container] } }, { ...settings, mode: "capsule" })).toBe("capsule");
});

test("mode container refuses what needs a capsule, by its field", () => {
  const only = { ...settings, mode: "container" } as const;
  expect(() => chooseKind({ spec: { containers: [container, container] } }, only)).toThrow(
    expect.objectContaining({ fieldPath: "spec.containers[1]" }),
  );
  expect(() => chooseKind({ spec: { containers: [container], initContainers: [container] } }, only)).toThrow(
    expect.objectContaining({ fieldPath: "spec.initContainers" }),
  );
});

test("a capsule is refused a choice of networks, an address and a registry", () => {
  for (const change of [{ networks: ["a"] }, { subnets: ["a"] }, { fixedIp: "10.0.0.5" }, { registry: "r" }])
    expect(() => checkCapsule({ ...settings, subnets: [], networks: [], ...change })).toThrow(/is a Zun capsule/);
  expect(() => checkCapsule({ ...settings, subnets: [], networks: [] })).not.toThrow();
});
