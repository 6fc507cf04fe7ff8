import {
  coreConditions,
  coreReasons,
  refusableFields,
  supportsField,
  type ConditionCatalogue,
  type ProviderDefinition,
  type ReasonCatalogue,
  type ReasonInfo,
  type ReasonPlace,
  type RefusableField,
} from "@virtual-kubelet/core";
import { errorCodes } from "@virtual-kubelet/errdefs";
import { exitCodes } from "../exit-codes.ts";
import type { Explanation } from "./explanation.ts";

/** The part of a provider's definition that explanations come from. */
export type ExplainedProvider = Pick<
  ProviderDefinition,
  "name" | "capabilities" | "reasons" | "conditions" | "policy" | "policyAnnotations" | "policyVolumes"
>;

const places: Readonly<Record<ReasonPlace, string>> = {
  podEvent: "event on the pod (kubectl describe pod)",
  nodeEvent: "event on the node (kubectl describe node)",
  claimEvent: "event on the PersistentVolumeClaim (kubectl describe pvc)",
  volumeEvent: "event on the PersistentVolume (kubectl describe pv)",
  serviceEvent: "event on the Service (kubectl describe service)",
  podStatus: "reason of the pod (kubectl get pod -o yaml: status.reason)",
  podCondition: "condition of the pod (kubectl describe pod)",
  containerWaiting: "reason of a waiting container (STATUS in kubectl get pods)",
  containerTerminated: "reason of an ended container (STATUS in kubectl get pods)",
  nodeCondition: "condition of the node (kubectl describe node)",
};

/** Everything that can be explained, with what these providers add, in the order of the list: codes, reasons, conditions, fields, exit codes. */
export function allExplanations(providers: readonly ExplainedProvider[]): readonly Explanation[] {
  return [
    ...explainedCodes(),
    ...explainedReasons(providers),
    ...explainedConditions(providers),
    ...explainedFields(providers),
    ...explainedExitCodes(),
  ];
}

function explainedCodes(): Explanation[] {
  return Object.entries(errorCodes).map(([name, { description, remedy, httpStatus, retryable }]) => ({
    kind: "error code",
    name,
    writtenBy: ["core", "providers"],
    where: [`errors of the packages; the node's server answers with HTTP ${httpStatus}`],
    meaning: `${description} ${retryable ? "The same call may succeed later." : "The same call never succeeds."}`,
    remedy,
  }));
}

/** A reason that several providers explain with the same words is one explanation. */
function explainedReasons(providers: readonly ExplainedProvider[]): Explanation[] {
  const found = new Map<string, { readonly info: ReasonInfo; readonly name: string; readonly by: string[] }>();
  const sources: readonly (readonly [by: string, catalogue: ReasonCatalogue])[] = [
    ["core", coreReasons],
    ...providers.map(({ name, reasons = {} }) => [name, reasons] as const),
  ];
  for (const [by, catalogue] of sources) {
    for (const [name, info] of Object.entries(catalogue)) {
      const key = `${name}: ${info.meaning}`;
      const known = found.get(key);
      if (known) known.by.push(by);
      else found.set(key, { info, name, by: [by] });
    }
  }
  return [...found.values()].map(({ info: { on, meaning, remedy }, name, by }) => ({
    kind: "reason",
    name,
    writtenBy: by,
    where: on.map((place) => places[place]),
    meaning,
    remedy,
  }));
}

const conditionPlaces: Readonly<Record<ConditionCatalogue[string]["on"], string>> = {
  node: places.nodeCondition,
  pod: places.podCondition,
};

function explainedConditions(providers: readonly ExplainedProvider[]): Explanation[] {
  const sources: readonly (readonly [by: string, catalogue: ConditionCatalogue])[] = [
    ["core", coreConditions],
    ...providers.map(({ name, conditions = {} }) => [name, conditions] as const),
  ];
  return sources.flatMap(([by, catalogue]) =>
    Object.entries(catalogue).map(([name, { on, meaning, remedy }]) => ({
      kind: "condition" as const,
      name,
      writtenBy: [by],
      where: [conditionPlaces[on]],
      meaning,
      remedy,
    })),
  );
}

function explainedFields(providers: readonly ExplainedProvider[]): Explanation[] {
  const annotations = providers.flatMap(({ policyAnnotations = [] }) => policyAnnotations);
  return refusableFields({ annotations }).map((field) => {
    const judges = providers.filter((provider) => judgesField(provider, field)).map(({ name }) => name);
    return {
      kind: "field",
      name: field.fieldPath,
      writtenBy: ["core"],
      where: ["a pod that has it waits, or fails, with the reason ProviderUnsupported"],
      meaning: [`Asks for ${field.feature}.`, supportText(field, providers), policyText(field, judges)].filter(Boolean).join(" "),
      remedy: fieldRemedy(field, judges),
    };
  });
}

/** Whether the provider's policy decides about the field. An annotation means something only to providers that name it. */
function judgesField({ policy, policyAnnotations = [] }: ExplainedProvider, field: RefusableField): boolean {
  if (policy === undefined || field.policy === undefined) return false;
  const annotation = /^metadata\.annotations\['(.+)'\]$/.exec(field.fieldPath)?.[1];
  return annotation === undefined || policyAnnotations.some(({ name }) => name === annotation);
}

function supportText(field: RefusableField, providers: readonly ExplainedProvider[]): string {
  if (field.capability === undefined) return "";
  const can = providers.filter(({ capabilities }) => supportsField(field, capabilities)).map(({ name }) => name);
  const cannot = providers.filter(({ name }) => !can.includes(name)).map(({ name }) => name);
  const support = can.length > 0 ? `Supported by ${can.join(", ")}` : "Supported by no provider here";
  return `${support} (capability ${field.capability})${cannot.length > 0 ? `, not by ${cannot.join(", ")}` : ""}.`;
}

function policyText({ policy }: RefusableField, judges: readonly string[]): string {
  if (!policy || judges.length === 0) return "";
  const rule = policy.setting === undefined ? "never allows it" : `decides whether it is allowed: policy.${policy.setting}`;
  return `The policy of ${judges.join(", ")} ${rule}.`;
}

function fieldRemedy({ fieldPath, capability, policy, isIgnorable }: RefusableField, judges: readonly string[]): string {
  const ways = ["Remove the field"];
  if (capability !== undefined) ways.push("use a provider that supports it");
  if (policy?.setting !== undefined && judges.length > 0)
    ways.push(`allow it with policy.${policy.setting} in the provider's configuration`);
  if (isIgnorable) ways.push(`leave it out of pods with the node's setting \`onUnsupported: { ignore: ["${fieldPath}"] }\``);
  const [first, ...others] = ways;
  return others.length === 0 ? `${first}.` : `${[first, ...others.slice(0, -1)].join(", ")}, or ${others.at(-1)}.`;
}

function explainedExitCodes(): Explanation[] {
  return Object.values(exitCodes).map(({ code, meaning, remedy }) => ({
    kind: "exit code",
    name: String(code),
    writtenBy: ["the program virtual-kubelet"],
    where: ["exit code of the program (a pod's lastState.terminated.exitCode, systemctl status)"],
    meaning: `${meaning.charAt(0).toUpperCase()}${meaning.slice(1)}.`,
    remedy,
  }));
}
