// Cells of csv as calib.table.write makes them for spreadsheets.
const STEERING = "(?:[\\t\\r\\n\\x1b]|[\\s\\x85\\x00-\\x1f\\u200b\\ufeff]*[=+\\-@\\uff1d\\uff0b\\uff0d\\uff20])";
const STEERS = new RegExp(`^${STEERING}`), QUOTED = new RegExp(`^'+${STEERING}`);
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
function inCell(text) {
  const steers = (STEERS.test(text) && !NUMBER.test(text)) || QUOTED.test(text);
  const whole = steers ? `'${text}` : text;
  return /[",\r\n]/.test(whole) ? `"${whole.replace(/"/g, '""')}"` : whole;
}
