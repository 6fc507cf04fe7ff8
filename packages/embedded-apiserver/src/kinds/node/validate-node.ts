import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, FieldError } from "../kind.ts";
import { labelValueProblems } from "../validation/label-syntax.ts";
import { taintEffectErrors } from "../pod/validate-placement.ts";
import { amountErrors } from "../pod/validate-resources.ts";
import { duplicate, forbiddenField, invalidValue, required } from "../validation/field-errors.ts";
import { each, labelNameErrors } from "../validation/labels.ts";
import { cidrProblems } from "../validation/names.ts";
import type { NodeSpec, NodeStatus, Taint } from "./node-fields.ts";

/** Source: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go, ValidateNode and ValidateNodeUpdate. */
export function nodeErrors(node: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec: NodeSpec = node["spec"];
  const status: NodeStatus = node["status"];
  return [
    // The real server reports these as fields of the metadata.
    ...taintsErrors(spec.taints ?? [], "metadata.taints"),
    ...Object.entries(status.capacity ?? {}).flatMap(([name, text]) => amountErrors(name, text, `status.capacity.${name}`)),
    ...Object.entries(status.allocatable ?? {}).flatMap(([name, text]) => amountErrors(name, text, `status.allocatable.${name}`)),
    ...(spec.podCIDRs ?? []).flatMap((range, index) => each(`spec.podCIDRs[${index}]`, range, cidrProblems(range))),
    ...((spec.podCIDRs ?? []).length > 2
      ? [invalidValue("spec.podCIDRs", spec.podCIDRs, "may specify no more than one CIDR for each IP family")]
      : []),
    ...(old === undefined ? [] : updateErrors(spec, status, old["spec"])),
  ];
}

function taintsErrors(taints: readonly Taint[], field: string): FieldError[] {
  return taints.flatMap((taint, index) => {
    const path = `${field}[${index}]`;
    const { key, value = "", effect } = taint;
    const problems = labelValueProblems(value);
    const isTaken = taints.slice(0, index).some((other) => other.key === key && other.effect === effect);
    const shown = { Key: key, Value: value, Effect: effect, TimeAdded: taint.timeAdded ?? null };
    const repeated = duplicate(path, shown);
    return [
      ...labelNameErrors(key, `${path}.key`),
      ...(problems.length > 0 ? [invalidValue(`${path}.value`, value, problems.join(";"))] : []),
      ...(effect === "" ? [required(`${path}.effect`)] : taintEffectErrors(effect, `${path}.effect`)),
      ...(isTaken ? [{ ...repeated, message: `${repeated.message}: taints must be unique by key and effect pair` }] : []),
    ];
  });
}

function updateErrors(spec: NodeSpec, { addresses = [] }: NodeStatus, old: NodeSpec): FieldError[] {
  const errors = addresses.flatMap((address, index) =>
    addresses.slice(0, index).some((other) => equalJson(other, address))
      ? [duplicate(`status.addresses[${index}]`, { Type: address.type, Address: address.address })]
      : [],
  );
  if ((old.podCIDRs ?? []).length > 0 && !equalJson(spec.podCIDRs, old.podCIDRs))
    errors.push(forbiddenField("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid'));
  if (old.providerID !== undefined && old.providerID !== spec.providerID)
    errors.push(forbiddenField("spec.providerID", 'node updates may not change providerID except from "" to valid'));
  return errors;
}
