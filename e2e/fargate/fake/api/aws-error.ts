/** Names of the errors of Amazon ECS and CloudWatch Logs, and of what stands in front of both. */
export type AwsErrorType =
  | "AccessDeniedException"
  | "ClientException"
  | "ClusterNotFoundException"
  | "ConflictException"
  | "ExpiredTokenException"
  | "InvalidParameterException"
  | "InvalidSignatureException"
  | "LimitExceededException"
  | "PlatformTaskDefinitionIncompatibilityException"
  | "PlatformUnknownException"
  | "ResourceAlreadyExistsException"
  | "ResourceNotFoundException"
  | "SerializationException"
  | "ServerException"
  | "ServiceUnavailableException"
  | "TargetNotConnectedException"
  | "ThrottlingException"
  | "UnknownOperationException"
  | "UnrecognizedClientException"
  | "UnsupportedFeatureException";

/** An error answer in the form of AWS JSON 1.1: the HTTP status, and a body with `__type` and `message`. */
export class AwsError extends Error {
  override readonly name = "AwsError";
  readonly type: AwsErrorType;
  /** HTTP status; default: 500 for `ServerException`, 503 for `ServiceUnavailableException`, otherwise 400. */
  readonly status: number;
  readonly #fields: Readonly<Record<string, unknown>>;

  /** @param fields - members of the error besides the message */
  constructor(
    type: AwsErrorType,
    message: string,
    { status, ...fields }: { readonly status?: number; readonly [member: string]: unknown } = {},
  ) {
    super(message);
    this.type = type;
    this.status = status ?? { ServerException: 500, ServiceUnavailableException: 503 }[type as string] ?? 400;
    this.#fields = fields;
  }

  toBody(): object {
    return { __type: this.type, message: this.message, ...this.#fields };
  }
}

export function clientError(message: string): AwsError {
  return new AwsError("ClientException", message);
}

export function invalidParameter(message: string): AwsError {
  return new AwsError("InvalidParameterException", message);
}
