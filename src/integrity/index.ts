export { IntegrityModule } from './integrity.module';
export { IntegrityService, type IntegrityReport } from './integrity.service';
