/** A DNS subdomain. */
export const subdomain: RegExp = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

export const labelKeyError: string =
  "expected a label's key, such as example.com/team: at most 63 letters, digits, '-', '_' and '.' after the '/'";
export const labelValueError: string =
  "expected a label's value: at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit";
