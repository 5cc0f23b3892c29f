export {
  beginRequestSpan,
  beginSpan,
  inSharedSpan,
  inSpan,
  noteInSpan,
  type OpenSpan,
  type Origin,
  origin,
} from './spans';
export { TracingModule } from './tracing.module';
