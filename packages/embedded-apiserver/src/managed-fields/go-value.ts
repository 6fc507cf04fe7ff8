/** A value of the real server's that JSON does not have, such as a `time.Time`. It fits no type of a schema and is shown in messages. */
export class GoValue {
  /** Such as `time.Time`. */
  readonly type: string;
  /** Go's `%v`. */
  readonly plain: string;
  /** Go's `%#v`. */
  readonly literal: string;

  constructor(type: string, plain: string, literal: string) {
    this.type = type;
    this.plain = plain;
    this.literal = literal;
  }
}
