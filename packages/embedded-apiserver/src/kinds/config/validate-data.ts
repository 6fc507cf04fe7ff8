import { goJsonError } from "../../json/go-json-error.ts";
import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, FieldError } from "../kind.ts";
import { forbiddenField, invalidValue, required, tooLong } from "../validation/field-errors.ts";
import { each } from "../validation/labels.ts";
import { dataKeyProblems } from "../validation/names.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go, ValidateConfigMap and ValidateSecret. */

const sizeLimitBytes = 1024 * 1024;

type Data = Readonly<Record<string, string>>;

export function configMapErrors(configMap: ApiObject, old: ApiObject | undefined): FieldError[] {
  const data: Data = configMap["data"] ?? {};
  const binaryData: Data = configMap["binaryData"] ?? {};
  const sizeBytes = sum(Object.values(data).map((text) => Buffer.byteLength(text))) + sum(Object.values(binaryData).map(decodedBytes));
  return [
    ...immutableErrors(configMap, old, ["data", "binaryData"]),
    ...Object.keys(data).flatMap((key) => [
      ...each(`data[${key}]`, key, dataKeyProblems(key)),
      ...(Object.hasOwn(binaryData, key) ? [invalidValue(`data[${key}]`, key, "duplicate of key present in binaryData")] : []),
    ]),
    ...Object.keys(binaryData).flatMap((key) => each(`binaryData[${key}]`, key, dataKeyProblems(key))),
    ...(sizeBytes > sizeLimitBytes ? [tooLong("[]", sizeLimitBytes)] : []),
  ];
}

export function secretErrors(secret: ApiObject, old: ApiObject | undefined): FieldError[] {
  const data: Data = secret["data"] ?? {};
  const changed = old !== undefined && old["type"] !== secret["type"] ? [invalidValue("type", secret["type"], "field is immutable")] : [];
  return [
    ...changed,
    ...immutableErrors(secret, old, ["data"]),
    ...Object.keys(data).flatMap((key) => each(`data[${key}]`, key, dataKeyProblems(key))),
    ...(sum(Object.values(data).map(decodedBytes)) > sizeLimitBytes ? [tooLong("data", sizeLimitBytes)] : []),
    ...typeErrors(secret, data),
  ];
}

function typeErrors({ metadata, ...secret }: ApiObject, data: Data): FieldError[] {
  const missing = (...keys: string[]): FieldError[] =>
    keys.filter((key) => !Object.hasOwn(data, key)).map((key) => required(`data[${key}]`));
  switch (secret["type"]) {
    case "kubernetes.io/service-account-token": {
      const name = "kubernetes.io/service-account.name";
      return metadata.annotations?.[name] ? [] : [required(`metadata.annotations[${name}]`)];
    }
    case "kubernetes.io/dockercfg":
      return jsonErrors(data, ".dockercfg");
    case "kubernetes.io/dockerconfigjson":
      return jsonErrors(data, ".dockerconfigjson");
    case "kubernetes.io/basic-auth":
      return Object.hasOwn(data, "username") || Object.hasOwn(data, "password") ? [] : missing("username", "password");
    case "kubernetes.io/ssh-auth":
      return data["ssh-privatekey"] ? [] : [required("data[ssh-privatekey]")];
    case "kubernetes.io/tls":
      return missing("tls.crt", "tls.key");
    default:
      return [];
  }
}

function jsonErrors(data: Data, key: string): FieldError[] {
  const text = data[key];
  if (text === undefined) return [required(`data[${key}]`)];
  const problem = goJsonError(Buffer.from(text, "base64").toString());
  return problem === undefined ? [] : [invalidValue(`data[${key}]`, "<secret contents redacted>", problem)];
}

function immutableErrors(object: ApiObject, old: ApiObject | undefined, fields: readonly string[]): FieldError[] {
  if (old?.["immutable"] !== true) return [];
  const message = "field is immutable when `immutable` is set";
  return [
    ...(object["immutable"] === true ? [] : [forbiddenField("immutable", message)]),
    ...fields.filter((field) => !equalJson(object[field], old[field])).map((field) => forbiddenField(field, message)),
  ];
}

function decodedBytes(base64: string): number {
  return Buffer.byteLength(base64, "base64");
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
