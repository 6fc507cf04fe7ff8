import type { FieldError } from "../kind.ts";
import { forbiddenField, invalidValue, notSupported, required } from "../validation/field-errors.ts";
import { each } from "../validation/labels.ts";
import { headerNameProblems, portNameProblems, portNumberProblems } from "../validation/names.ts";
import { nonNegative } from "../validation/numbers.ts";
import type { Container, Handler, Probe } from "./pod-fields.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go, validateProbe and validateHandler. */

export function probesErrors(
  { livenessProbe, readinessProbe, startupProbe }: Container,
  field: string,
  graceSeconds: number | undefined,
): FieldError[] {
  const errors: FieldError[] = [];
  if (livenessProbe !== undefined)
    errors.push(
      ...probeErrors(livenessProbe, `${field}.livenessProbe`, graceSeconds),
      ...successErrors(livenessProbe, `${field}.livenessProbe`),
    );
  if (readinessProbe !== undefined) {
    errors.push(...probeErrors(readinessProbe, `${field}.readinessProbe`, graceSeconds));
    const seconds = readinessProbe.terminationGracePeriodSeconds;
    if (seconds !== undefined)
      errors.push(invalidValue(`${field}.readinessProbe.terminationGracePeriodSeconds`, seconds, "must not be set for readinessProbes"));
  }
  if (startupProbe !== undefined)
    errors.push(
      ...probeErrors(startupProbe, `${field}.startupProbe`, graceSeconds),
      ...successErrors(startupProbe, `${field}.startupProbe`),
    );
  return errors;
}

function successErrors({ successThreshold }: Probe, field: string): FieldError[] {
  return successThreshold === 1 ? [] : [invalidValue(`${field}.successThreshold`, successThreshold ?? 0, "must be 1")];
}

function probeErrors(probe: Probe, field: string, graceSeconds: number | undefined): FieldError[] {
  const { terminationGracePeriodSeconds: ownGrace } = probe;
  const counts = (["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"] as const).flatMap(
    (name) => nonNegative(probe[name], `${field}.${name}`),
  );
  const graceErrors =
    ownGrace !== undefined && ownGrace <= 0
      ? [invalidValue(`${field}.terminationGracePeriodSeconds`, ownGrace, "must be greater than 0")]
      : [];
  return [...handlerErrors(probe, field, graceSeconds), ...counts, ...graceErrors];
}

export function lifecycleErrors(
  { postStart, preStop, stopSignal }: NonNullable<Container["lifecycle"]>,
  field: string,
  graceSeconds: number | undefined,
): FieldError[] {
  return [
    ...(postStart === undefined ? [] : handlerErrors(postStart, `${field}.postStart`, graceSeconds)),
    ...(preStop === undefined ? [] : handlerErrors(preStop, `${field}.preStop`, graceSeconds)),
    ...(stopSignal === undefined ? [] : [forbiddenField(`${field}.stopSignal`, "may not be set for containers with empty `spec.os.name`")]),
  ];
}

function handlerErrors(handler: Handler, field: string, graceSeconds: number | undefined): FieldError[] {
  const checks: Readonly<Record<string, (() => FieldError[]) | undefined>> = {
    exec: handler.exec && (() => ((handler.exec?.command ?? []).length === 0 ? [required(`${field}.exec.command`)] : [])),
    httpGet: handler.httpGet && (() => httpErrors(handler.httpGet, `${field}.httpGet`)),
    tcpSocket: handler.tcpSocket && (() => portErrors(handler.tcpSocket?.port ?? 0, `${field}.tcpSocket.port`)),
    grpc: handler.grpc && (() => portErrors(handler.grpc?.port ?? 0, `${field}.grpc.port`)),
    sleep: handler.sleep && (() => sleepErrors(handler.sleep?.seconds ?? 0, `${field}.sleep`, graceSeconds)),
  };
  const errors: FieldError[] = [];
  let count = 0;
  for (const [name, check] of Object.entries(checks)) {
    if (check === undefined) continue;
    errors.push(...(count++ === 0 ? check() : [forbiddenField(`${field}.${name}`, "may not specify more than 1 handler type")]));
  }
  return count === 0 ? [required(field, "must specify a handler type")] : errors;
}

function httpErrors(action: Handler["httpGet"], field: string): FieldError[] {
  if (action === undefined) return [];
  const { path = "", port, scheme = "", httpHeaders = [] } = action;
  return [
    ...(path === "" ? [required(`${field}.path`)] : []),
    ...portErrors(port, `${field}.port`),
    ...(scheme === "HTTP" || scheme === "HTTPS" ? [] : [notSupported(`${field}.scheme`, scheme, ["HTTP", "HTTPS"])]),
    ...httpHeaders.flatMap(({ name }) => each(`${field}.httpHeaders`, name, headerNameProblems(name))),
  ];
}

export function portErrors(port: number | string, field: string): FieldError[] {
  return each(field, port, typeof port === "number" ? portNumberProblems(port) : portNameProblems(port));
}

function sleepErrors(seconds: number, field: string, graceSeconds: number | undefined): FieldError[] {
  if (graceSeconds === undefined || (seconds >= 0 && seconds <= graceSeconds)) return [];
  return [invalidValue(field, seconds, `must be non-negative and less than terminationGracePeriodSeconds (${graceSeconds})`)];
}
