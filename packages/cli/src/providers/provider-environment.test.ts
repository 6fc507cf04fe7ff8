import { expect, test } from "vitest";
import { mergeLayers } from "../config/layers.ts";
import { providerEnvironment } from "./provider-environment.ts";

const schema = {
  properties: {
    host: { type: "string", env: "BACKEND_HOST" },
    retries: { type: "integer", env: "BACKEND_RETRIES" },
    verify: { type: "boolean", env: "BACKEND_VERIFY" },
    zones: { type: "array", env: "BACKEND_ZONES" },
    auth: { type: "object", properties: { token: { type: "string", env: "BACKEND_TOKEN" } } },
  },
};

function configured(config: object, env: Readonly<Record<string, string>>): unknown {
  return mergeLayers(config, { kind: "default" }, providerEnvironment(schema, config, env)).value;
}

test("a variable that the schema names fills its field, as the field's type", () => {
  const env = { BACKEND_HOST: "b", BACKEND_RETRIES: "3", BACKEND_VERIFY: "1", BACKEND_ZONES: "a, b", BACKEND_TOKEN: "t", OTHER: "x" };

  expect(configured({}, env)).toEqual({ host: "b", retries: 3, verify: true, zones: ["a", "b"], auth: { token: "t" } });
});

test("what the configuration says goes over the environment, and an empty variable says nothing", () => {
  expect(configured({ host: "mine" }, { BACKEND_HOST: "b", BACKEND_TOKEN: "" })).toEqual({ host: "mine" });
});

test("a text that does not fit its type is left for the schema to refuse", () => {
  expect(configured({}, { BACKEND_RETRIES: "many", BACKEND_VERIFY: "maybe" })).toEqual({ retries: "many", verify: "maybe" });
});
