/** An error response with a status of 400 or higher, in Zun's format. Shape: recorded from zun-api 18.0.0, 2026-11. */
export class ApiFault extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, detail: string) {
    super(detail);
    this.status = status;
    this.code = code;
  }

  /** Body in Zun's format. */
  toZunBody(): object {
    const title = this.code.replace(/^container\./, "").replaceAll("-", " ");
    return { errors: [{ request_id: "", code: this.code, status: this.status, title, detail: this.message, links: [] }] };
  }
}

/** No object has that name or ID. */
export function notFound(kind: string, ident: string): ApiFault {
  return new ApiFault(404, `container.${kind}-not-found`, `${kind[0]?.toUpperCase()}${kind.slice(1)} ${ident} could not be found.`);
}

/** The action is not allowed in that state. */
export function wrongState(uuid: string, action: string, status: string): ApiFault {
  return new ApiFault(409, "container.invalid-state-exception", `Cannot ${action} container ${uuid} in ${status} state`);
}
