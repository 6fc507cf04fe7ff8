import type { FakeEcs } from "../ecs/fake-ecs.ts";
import { region } from "../ecs/arns.ts";
import type { FakeLogs } from "../logs/fake-logs.ts";
import { readFacts, type ApiFacts, type ServiceName } from "./api-facts.ts";
import { AwsError } from "./aws-error.ts";
import { shapeProblem } from "./check-shape.ts";
import type { FakeCredentials, SignedRequest } from "./credentials.ts";
import type { FaultEffect, Faults } from "./faults.ts";
import type { RequestRates } from "./request-rates.ts";

/** A request that the fake received. */
export interface SeenCall {
  readonly service: ServiceName;
  readonly operation: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Key with which it was signed. */
  readonly accessKeyId: string;
}

/** `lost`: the connection is to be cut. `hang`: nothing is to be answered. */
export type ApiAnswer =
  | { readonly kind: "answer"; readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: string }
  | { readonly kind: "lost" }
  | { readonly kind: "hang" };

interface Parts {
  readonly credentials: FakeCredentials;
  readonly faults: Faults;
  readonly rates: RequestRates;
  readonly ecs: FakeEcs;
  readonly logs: FakeLogs;
}

/** AWS JSON 1.1 in front of the services: signatures, rates, shapes and scripted faults. */
export class FakeApi {
  /** All requests, in order. */
  readonly seen: SeenCall[] = [];
  readonly #facts: Readonly<Record<ServiceName, ApiFacts>> = { ecs: readFacts("ecs"), logs: readFacts("logs") };
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async answer(request: SignedRequest): Promise<ApiAnswer> {
    try {
      return await this.#answer(request);
    } catch (error) {
      if (error instanceof AwsError) return jsonAnswer(error.status, error.toBody());
      return jsonAnswer(500, new AwsError("ServerException", `the fake failed: ${String(error)}`).toBody());
    }
  }

  async #answer(request: SignedRequest): Promise<ApiAnswer> {
    const { service, operation } = this.#target(request.headers["x-amz-target"] ?? "");
    const { credentials, faults, rates } = this.#parts;
    const input = parse(request.body);
    const [, accessKeyId = ""] = /Credential=([^/]+)\//.exec(request.headers["authorization"] ?? "") ?? [];
    this.seen.push({ service, operation, input, accessKeyId });
    credentials.check(request, service, region);
    rates.take(operation);
    const facts = this.#facts[service];
    const operationFacts = facts.operations[operation];
    const problem = shapeProblem(facts, operationFacts?.input ?? "", input);
    if (problem !== undefined)
      throw new AwsError(problem.kind === "type" ? "SerializationException" : "InvalidParameterException", problem.message);
    const fault = faults.take(operation, input);
    if (fault !== undefined && isBefore(fault)) return effectOf(fault);
    const output = await this.#carryOut(service, operation, input);
    const wrong = operationFacts?.output === undefined ? undefined : shapeProblem(facts, operationFacts.output, output);
    if (wrong !== undefined) throw new Error(`the answer to ${operation} is not of AWS's model: ${wrong.message}`);
    if (fault?.kind === "alter") return jsonAnswer(200, fault.alter({ ...output }));
    return fault === undefined ? jsonAnswer(200, output) : effectOf(fault);
  }

  async #carryOut(service: ServiceName, operation: string, input: Readonly<Record<string, unknown>>): Promise<object> {
    if (service === "ecs") return this.#parts.ecs.carryOut(operation, input);
    const { logs } = this.#parts;
    switch (operation) {
      case "CreateLogGroup":
        return logs.createLogGroup(input);
      case "CreateLogStream":
        return logs.createLogStream(input);
      case "PutLogEvents":
        return logs.putLogEvents(input);
      case "GetLogEvents":
        return logs.getLogEvents(input);
      default:
        return logs.filterLogEvents(input);
    }
  }

  #target(target: string): { readonly service: ServiceName; readonly operation: string } {
    const [prefix, operation = ""] = target.split(".");
    const service = (["ecs", "logs"] as const).find((each) => this.#facts[each].targetPrefix === prefix);
    if (service === undefined || !(operation in this.#facts[service].operations))
      throw new AwsError("UnknownOperationException", `the fake has no operation ${target}`);
    return { service, operation };
  }
}

/** Whether the fault comes in place of carrying out the request. */
function isBefore(fault: FaultEffect): boolean {
  return fault.kind === "answer" || ((fault.kind === "error" || fault.kind === "lost" || fault.kind === "hang") && !fault.afterCommit);
}

function effectOf(fault: FaultEffect): ApiAnswer {
  switch (fault.kind) {
    case "error":
      return jsonAnswer(fault.error.status, fault.error.toBody());
    case "answer":
      return jsonAnswer(200, fault.body);
    case "garbage":
      return { kind: "answer", status: 200, headers: jsonHeaders, body: fault.body ?? "<html>Welcome</html>" };
    case "hang":
      return { kind: "hang" };
    default:
      return { kind: "lost" };
  }
}

const jsonHeaders = { "content-type": "application/x-amz-json-1.1" };

function jsonAnswer(status: number, body: object): ApiAnswer {
  return { kind: "answer", status, headers: jsonHeaders, body: JSON.stringify(body) };
}

function parse(body: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body === "" ? "{}" : body);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Readonly<Record<string, unknown>>;
  } catch {
    // Reported below.
  }
  throw new AwsError("SerializationException", "the body is no JSON object");
}
