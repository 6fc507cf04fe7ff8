import { isInvalidInput, messageOf } from "@virtual-kubelet/errdefs";
import { isKeyUsage, keyUsages, parseCertificateRequest } from "@virtual-kubelet/pki";
import { X509Certificate } from "node:crypto";
import type { ApiObject, FieldError } from "../kind.ts";
import { duplicate, forbiddenField, invalidValue, notSupported, required, tooLong } from "../validation/field-errors.ts";
import { dnsLabelProblems, dnsSubdomainProblems } from "../validation/names.ts";
import { type CsrSpec, type CsrStatus, requestPem } from "./csr-fields.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/certificates/validation/validation.go. */

const minSeconds = 600;
const maxSegmentBytes = 253;
const onlyTrue: ReadonlySet<string> = new Set(["Approved", "Denied", "Failed"]);

export function csrErrors(csr: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec: CsrSpec = csr["spec"];
  const status: CsrStatus = csr["status"];
  const usages = spec.usages ?? [];
  const problem = requestProblem(requestPem(spec));
  const { expirationSeconds: seconds } = spec;
  return [
    ...(problem === undefined ? [] : [invalidValue("spec.request", spec.request, problem)]),
    ...(usages.length === 0 ? [required("spec.usages")] : []),
    ...usages.flatMap((usage, index) => (isKeyUsage(usage) ? [] : [notSupported(`spec.usages[${index}]`, usage, keyUsages)])),
    ...usages.flatMap((usage, index) => (usages.indexOf(usage) < index ? [duplicate(`spec.usages[${index}]`, usage)] : [])),
    ...signerNameErrors(spec.signerName),
    ...(seconds !== undefined && seconds < minSeconds
      ? [invalidValue("spec.expirationSeconds", seconds, "may not specify a duration less than 600 seconds (10 minutes)")]
      : []),
    ...conditionErrors(status),
    ...certificateErrors(status.certificate),
    ...(old === undefined ? [] : removedConditionErrors(status, old["status"])),
    ...(old?.["status"].certificate !== undefined && old["status"].certificate !== status.certificate
      ? [forbiddenField("status.certificate", "updates may not modify existing certificate content")]
      : []),
  ];
}

function requestProblem(pem: string): string | undefined {
  try {
    parseCertificateRequest(pem);
    return undefined;
  } catch (error) {
    if (isInvalidInput(error)) return messageOf(error);
    throw error;
  }
}

/** Source: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go, `ValidateSignerName`. */
function signerNameErrors(name: string): FieldError[] {
  const field = "spec.signerName";
  if (name === "") return [required(field)];
  if (name === "kubernetes.io/legacy-unknown")
    return [invalidValue(field, name, "the legacy signerName is not allowed via this API version")];
  const [domain = "", path = "", ...surplus] = name.split("/");
  if (!name.includes("/") || surplus.length > 0)
    return [invalidValue(field, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")];
  const labels = domain.split(".");
  const label = (part: string, text: string, problems: readonly string[]): FieldError[] =>
    problems.map((problem) => invalidValue(field, part, `validating label ${JSON.stringify(text)}: ${problem}`));
  return [
    ...(domain.length > maxSegmentBytes ? [tooLong(field, maxSegmentBytes)] : []),
    ...(labels.length < 2 ? [invalidValue(field, domain, "should be a domain with at least two segments separated by dots")] : []),
    ...labels.flatMap((text) => label(domain, text, dnsLabelProblems(text))),
    ...path.split(".").flatMap((text) => label(path, text, dnsSubdomainProblems(text))),
  ];
}

function conditionErrors({ conditions = [] }: CsrStatus): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  conditions.forEach(({ type, status }, index) => {
    const field = `status.conditions[${index}]`;
    if (type === "") errors.push(required(`${field}.type`));
    const allowed = onlyTrue.has(type) ? ["True"] : ["False", "True", "Unknown"];
    if (status === "") errors.push(required(`${field}.status`));
    else if (!allowed.includes(status)) errors.push(notSupported(`${field}.status`, status, allowed));
    if ((type === "Approved" && seen.has("Denied")) || (type === "Denied" && seen.has("Approved")))
      errors.push(invalidValue("status.conditions", type, "Approved and Denied conditions are mutually exclusive"));
    if (seen.has(type)) errors.push(duplicate(`${field}.type`, type));
    seen.add(type);
  });
  return errors;
}

function certificateErrors(certificate: string | undefined): FieldError[] {
  if (certificate === undefined) return [];
  const pem = Buffer.from(certificate, "base64").toString();
  const blocks = [...pem.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g)];
  const problem =
    blocks.length === 0 ? "must contain at least one CERTIFICATE PEM block" : blocks.map(blockProblem).find((one) => one !== undefined);
  return problem === undefined ? [] : [invalidValue("status.certificate", "<certificate data>", problem)];
}

function blockProblem([text, type]: RegExpMatchArray): string | undefined {
  if (type !== "CERTIFICATE") return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(type)}`;
  try {
    return void new X509Certificate(text);
  } catch {
    return "x509: malformed certificate";
  }
}

function removedConditionErrors({ conditions = [] }: CsrStatus, old: CsrStatus): FieldError[] {
  return ["Approved", "Denied", "Failed"]
    .filter((type) => old.conditions?.some((one) => one.type === type) && !conditions.some((one) => one.type === type))
    .map((type) => forbiddenField("status.conditions", `updates may not remove a condition of type ${JSON.stringify(type)}`));
}
