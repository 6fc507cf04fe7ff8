import { expect, test } from "vitest";
import { loadExpressions } from "../../cel/engine.ts";
import { validatingAdmissionPolicyKind } from "../../kinds/plain/admission-registration.ts";
import { startWorld, type World } from "../../test-support/cluster-world.ts";

function createPolicy(world: World, resource: string, expression: string, more: object = {}): void {
  const [group, version, plural] = resource.split("/");
  world.cluster.create(validatingAdmissionPolicyKind, {
    metadata: { name: "p" },
    spec: {
      matchConstraints: {
        resourceRules: [{ apiGroups: [group], apiVersions: [version], resources: [plural], operations: ["CREATE"] }],
      },
      validations: [{ expression }],
      ...more,
    },
  });
}

function statusOf(world: World): unknown {
  return world.cluster.get(validatingAdmissionPolicyKind, undefined, "p")?.["status"];
}

test("the status of a policy warns of a field that its resource does not have", async () => {
  await loadExpressions();
  await using world = await startWorld();
  createPolicy(world, "apps/v1/deployments", "object.spec.replica > 1");
  await world.settle();

  expect(statusOf(world)).toEqual({
    observedGeneration: 1,
    typeChecking: {
      expressionWarnings: [
        {
          fieldRef: "spec.validations[0].expression",
          warning:
            "apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'replica'\n | object.spec.replica > 1\n | ...........^\n",
        },
      ],
    },
  });
});

test("a schema that contains itself ends in objects without fields", async () => {
  await loadExpressions();
  await using world = await startWorld();
  const schema = "object.spec.versions[0].schema.openAPIV3Schema";
  createPolicy(world, "apiextensions.k8s.io/v1/customresourcedefinitions", `${schema}.title == 'a' && ${schema}.not.title == 'a'`);
  await world.settle();

  const status = JSON.stringify(statusOf(world));
  expect(status).toContain("1:114: undefined field 'title'");
  expect(status.match(/undefined field/g)).toHaveLength(1);
});

test("parameters and objects of the same kind have types of their own", async () => {
  await loadExpressions();
  await using world = await startWorld();
  createPolicy(world, "/v1/configmaps", "object.data == params.data && object == params", {
    paramKind: { apiVersion: "v1", kind: "ConfigMap" },
  });
  await world.settle();

  expect(JSON.stringify(statusOf(world))).toMatch(/applied to '\(ConfigMap(\d+), ConfigMap(?!\1\b)\d+\)'/);
});
