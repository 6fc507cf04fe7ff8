import type { ArmAnswer } from "./arm-request.ts";

/** Error answer of Azure Resource Manager. */
export class ArmError extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: string, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }

  toAnswer(): ArmAnswer {
    return { status: this.status, headers: this.headers, body: { error: { code: this.code, message: this.message } } };
  }
}

/** The resource does not exist. */
export function resourceNotFound(kind: string, name: string, resourceGroup: string): ArmError {
  const message = `The Resource '${kind}/${name}' under resource group '${resourceGroup}' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix`;
  return new ArmError(404, "ResourceNotFound", message);
}
