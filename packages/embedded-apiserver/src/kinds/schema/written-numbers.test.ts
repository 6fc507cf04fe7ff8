import { expect, test } from "vitest";
import { writtenNumberProblem } from "./written-numbers.ts";

const refused = (number: string, place: string): string =>
  `json: cannot unmarshal number ${number} into Go struct field ${place} of type int32`;

test.each([
  ['{"spec":{"replicas":1e3}}', refused("1e3", "DeploymentSpec.spec.replicas")],
  ['{"spec": {"replicas": 3.0}}', refused("3.0", "DeploymentSpec.spec.replicas")],
  ['{"spec":{"template":{"spec":{"containers":[{},{"ports":[{"containerPort":8e1}]}]}}}}', expect.stringContaining("number 8e1 into Go")],
  ['[{"op":"add","path":"/spec/replicas","value":1E1}]', refused("1E1", "DeploymentSpec.spec.replicas")],
  ['[{"op":"test","path":"/spec/replicas","value":1e1}]', undefined],
  ['[{"op":"add","path":"/spec/replicas","value":1e1},{"op":"replace","path":"/spec/replicas","value":3}]', undefined],
  ['[{"op":"add","path":"/spec/replicas","value":1e1},{"op":"remove","path":"/spec/replicas"}]', undefined],
  [
    '[{"op":"remove","path":"/spec/replicas"},{"op":"add","path":"/spec/replicas","value":1e1}]',
    refused("1e1", "DeploymentSpec.spec.replicas"),
  ],
  ['{"spec":{"replicas":1.00000000000000000001}}', refused("1.00000000000000000001", "DeploymentSpec.spec.replicas")],
  ['[{"op":"add","path":"/spec/other","value":1e1}]', undefined],
  ['{"spec":{"replicas":1000},"metadata":{"annotations":{"a":"x: 1e3"}}}', undefined],
  ['{"spec":{"other":1e3}}', undefined],
  [`{"spec":${"[".repeat(9000)}1e3${"]".repeat(9000)}}`, undefined],
])("of %s the problem is %s", (text, problem) => {
  expect(writtenNumberProblem("io.k8s.api.apps.v1.Deployment", text)).toEqual(problem);
});
