package uprobe
import ("testing";"fmt";"os";"reflect";"time")
func TestLoad(t *testing.T){
 k,err:=loadKernel(nil,nil); if err!=nil {t.Fatal(err)}
 at := uint64(reflect.ValueOf(framed).Pointer())
 code,_:=codeAt(at,64); p,_,_:=choose(code,at,1); off,_:=ownOffset(p.Address)
 fmt.Println(p)
 if err:=k.attach("/proc/self/exe",os.Getpid(),[]uint64{off},[]uint64{0}); err!=nil {t.Fatal(err)}
 k.set(0,siteInterval,1e6); k.set(0,siteMostSkip,3)
 for i:=0;i<20;i++ { framed(i); time.Sleep(2*time.Millisecond); fmt.Println(k.get(0,siteHits),k.get(0,siteTaken),k.get(0,siteNext),k.get(0,siteSkip),k.get(0,siteTogether),k.get(0,siteBusy),k.get(0,siteFull)) }
 k.close()
}
